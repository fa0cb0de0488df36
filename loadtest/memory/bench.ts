/**
 * Memory of real services that hold many subscriptions: `bench memory [--subscriptions N]
 * [--json FILE]`. They are written straight to their topic on Kafka, then every service that holds
 * them starts as a process of its own. Resident MiB once caught up, and a minute later, beside the
 * bar of 400.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createKafkaEventLog } from '#kernel/adapters/kafka/kafka-event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { type Figure, figure, writeFigures } from '../figures.ts'
import { type Child, startChild } from '../pipeline/children.ts'
import { serviceEnvironment } from '../pipeline/kafka-chains.ts'
import { subscriptionRecord } from './workload.ts'

const SERVICES = ['evaluator', 'guard', 'mailbox-dispatcher', 'scheduler', 'mcp-poller'] as const
const BAR_MIB = 400
const CHUNK = 2000
const REST_MS = 60_000

/** Runs the benchmark and prints one line per figure. */
export async function benchMemory(argv: readonly string[]): Promise<Figure[]> {
  const { values } = parseArgs({
    args: [...argv],
    options: { subscriptions: { type: 'string', default: '100000' }, json: { type: 'string' } },
  })
  const { environment, topicPrefix, brokers } = serviceEnvironment()
  const start = (service: string) =>
    startChild(join(import.meta.dirname, `../../services/${service}/main.ts`), [], environment)
  const control = await start('control-plane')
  const children = [control]
  try {
    await writeSubscriptions(brokers, topicPrefix, Number(values.subscriptions))
    const figures: Figure[] = []
    // One after the other: a small machine that starts six at once measures its own haste.
    for (const service of SERVICES) {
      const child = await start(service)
      children.push(child)
      figures.push(figure(`${service} when ready, MiB`, residentMib(child), BAR_MIB))
    }
    await delay(REST_MS)
    for (const [n, child] of children.entries()) {
      const name = `${['control-plane', ...SERVICES][n]} at rest, MiB`
      figures.push(figure(name, residentMib(child), BAR_MIB))
    }
    writeFigures('memory', figures, values.json)
    return figures
  } finally {
    await Promise.all(children.map(child => child.stop()))
  }
}

async function writeSubscriptions(brokers: string[], prefix: string, count: number) {
  const logger = silentLogger
  const log = createKafkaEventLog({ brokers, prefix, clientId: 'bench', logger })
  const codec = createRecordCodec()
  for (let from = 0; from < count; from += CHUNK) {
    const size = Math.min(CHUNK, count - from)
    await log.append(Array.from({ length: size }, (_, n) => subscriptionRecord(codec, from + n)))
  }
  await log.stop()
}

function residentMib({ pid }: Child): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}
