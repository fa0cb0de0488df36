/** Reads what the installation wrote into its log, from the beginning and on. */
import { createKafkaEventLog } from '#kernel/adapters/kafka/kafka-event-log.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { Cluster } from '#test/support/cluster.ts'
import type { Ledger } from './ledger.ts'

export interface LogMirror {
  /** Resolves when everything written before the call is in the ledger. */
  barrier(): Promise<void>
  /** Records that the consumer groups have not finished, by group. */
  lag(): Promise<Record<string, number>>
  stop(): Promise<void>
}

const GROUPS: Record<string, string[]> = {
  match: ['ingress.platform'],
  guard: ['candidates', 'outcomes'],
  'mailbox-dispatcher': ['mailbox'],
}

/** Follows decisions, messages and transitions into the ledger. */
export async function mirrorLog(cluster: Cluster, ledger: Ledger): Promise<LogMirror> {
  const { brokers, prefix } = cluster
  const log = createKafkaEventLog({ brokers, prefix })
  const codec = createRecordCodec({ subjectPrefix: prefix })
  await codec.ready()
  const note = ({ topic, value }: LogRecord) => {
    if (!value) return
    if (topic === 'decisions') ledger.decision(codec.decode('decision', value))
    else if (topic === 'mailbox') ledger.message(codec.decode('message', value))
    else ledger.transition(codec.decode('mailbox-transition', value))
  }
  const following = await log.follow({
    topics: ['decisions', 'mailbox', 'mailbox.state'],
    from: 'beginning',
    onRecords: records => records.forEach(note),
  })
  return {
    barrier: () => following.barrier(),
    async lag() {
      const found: Record<string, number> = {}
      for (const [group, topics] of Object.entries(GROUPS)) {
        const lags = await log.lag(group, topics)
        found[group] = lags.reduce((sum, { lag }) => sum + lag, 0)
      }
      return found
    },
    stop: () => log.stop(),
  }
}
