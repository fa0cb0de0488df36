/** The faults, by the numbers that the invariants page gives them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceName } from '#test/support/cluster.ts'
import { SERVICES } from '#test/support/cluster.ts'
import { killKafka, restartRedis, startKafka, stopKafka } from '../../deploy/local/infra.ts'
import { flushRedis, takeSnapshot } from './redis-snapshot.ts'
import type { Fault } from './scene.ts'

/** A member that is not heard of for so long is taken for dead. */
const SESSION_MS = 10_000
/** Longer than a session, so that the other replica takes over while the first is gone. */
const TAKEOVER_MS = SESSION_MS + 3000

/** C1: SIGKILL of one replica, and its return after the other one took over. */
export function killReplica(service: ServiceName): Fault {
  const ownsNothing = service === 'ingest'
  return {
    name: `C1 kill -9 ${service}`,
    strike: ({ cluster }) => cluster.replica(service, 0).kill9(),
    lastsMs: ownsNothing ? 2000 : TAKEOVER_MS,
    heal: ({ cluster }) => cluster.replica(service, 0).start(),
  }
}

/** C2: SIGSTOP of one replica for twice the session time; it wakes as an owner of the past. */
export function freezeReplica(service: ServiceName): Fault {
  return {
    name: `C2 SIGSTOP ${service} for ${(2 * SESSION_MS) / 1000} s`,
    strike: async ({ cluster }) => cluster.replica(service, 0).pause(),
    lastsMs: 2 * SESSION_MS,
    heal: async ({ cluster }) => cluster.replica(service, 0).resume(),
  }
}

/** C3: the only broker goes, cleanly or killed, and comes back with its data. */
export function restartBroker(how: 'clean' | 'kill'): Fault {
  return {
    name: `C3 broker restart, ${how}`,
    strike: ({ cluster }) =>
      how === 'clean' ? stopKafka(cluster.infra) : killKafka(cluster.infra),
    lastsMs: 3000,
    heal: async ({ cluster }) => void (await startKafka(cluster.infra)),
  }
}

/** C4: everything that the store holds is gone at once. */
export const flushStore: Fault = {
  name: 'C4 Redis FLUSHALL',
  strike: ({ cluster }) => flushRedis(cluster.redisUrl),
}

/** C4: a Redis without persistence comes back empty. */
export const restartStore: Fault = {
  name: 'C4 Redis killed, back empty',
  strike: ({ cluster }) => restartRedis(cluster.infra, 'kill'),
}

/** C4: a failover to a replica that had not got the last second. */
export const rollBackStore: Fault = {
  name: 'C4 Redis back to where it was a second ago',
  async strike({ cluster }) {
    const snapshot = await takeSnapshot(cluster.redisUrl)
    await sleep(1000)
    await snapshot.restore()
  },
}

/** C10: every replica of every service in turn is told to end and is started again. */
export const rollingRestart: Fault = {
  name: 'C10 rolling restart with SIGTERM',
  async strike({ cluster }) {
    for (const service of SERVICES) {
      for (const replica of cluster.replicas(service)) {
        const { code } = await replica.stopGracefully()
        if (code !== 0) throw new Error(`${service} ended with ${code}. ${replica.logTail()}`)
        await replica.start()
      }
    }
  },
  heal: async () => {},
}

/** Both replicas of the control plane stand still; `watch` looks on at the end. */
export function freezeControlPlane(lastsMs: number, watch: Fault['strike']): Fault {
  return {
    name: `control plane frozen for ${lastsMs / 1000} s`,
    async strike(scene) {
      for (const replica of scene.cluster.replicas('control-plane')) replica.pause()
      await sleep(lastsMs)
      await watch(scene)
    },
    async heal({ cluster }) {
      for (const replica of cluster.replicas('control-plane')) replica.resume()
    },
  }
}

/** The faults behind each number, for `npm run chaos`. */
const FAULTS: Record<string, Fault[]> = {
  C1: SERVICES.map(killReplica),
  C2: [freezeReplica('guard'), freezeReplica('mailbox-dispatcher')],
  C3: [restartBroker('clean'), restartBroker('kill')],
  C4: [flushStore, restartStore, rollBackStore],
  C10: [rollingRestart],
}

export const FAULT_NAMES = Object.keys(FAULTS)

/** The faults of a number; none where there is no such number. */
export function faultsOf(name: string): Fault[] {
  return FAULTS[name] ?? []
}
