/**
 * Runs a step without state of its own: what it writes is a function of the record and of the
 * tables, with deterministic ids, so doing it twice is harmless.
 */
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { ConsumeOptions, LogRecord } from '#kernel/ports/event-log.ts'
import { extTenant } from '#topologies/topics.ts'
import { deadLetterOutput } from './dead-letter.ts'
import { createOffsetKeeper } from './offset-keeper.ts'
import type { RunningStep } from './step-runner.ts'
import type { StepWorld } from './step-world.ts'

export interface StatelessStep {
  name: string
  topics: string[]
  withExtIngress?: boolean
  /** Outputs of one record; throwing makes the record poison. */
  map(record: LogRecord): Output[] | Promise<Output[]>
}

/** Starts consuming; resolves once subscribed. */
export async function runStatelessStep(
  step: StatelessStep,
  world: Pick<StepWorld, 'log' | 'clock' | 'writer' | 'gate' | 'batchMax' | 'logger'>,
): Promise<RunningStep> {
  const offsets = createOffsetKeeper(world)
  const handle: ConsumeOptions['handle'] = async batch => {
    await world.gate()
    const outputs: Output[] = []
    for (const record of batch.records) outputs.push(...(await mapOrBury(step, record, world)))
    if (!batch.isOwned()) return
    if (outputs.length > 0) await world.log.append(outputs.map(o => world.writer.encode(o)))
    await offsets.finished(batch, (batch.records.at(-1)?.offset ?? -1) + 1)
  }
  const { name, topics, withExtIngress } = step
  const { log, batchMax } = world
  const consumption = await log.consume({ group: name, topics, withExtIngress, batchMax, handle })
  return {
    async stop() {
      await offsets.stop()
      await consumption.stop()
    },
  }
}

async function mapOrBury(
  step: StatelessStep,
  record: LogRecord,
  world: Pick<StepWorld, 'clock' | 'logger'>,
): Promise<Output[]> {
  try {
    return await step.map(record)
  } catch (error) {
    // A schema that is still being fetched, or a registry that is away, makes no poison.
    if (isAmbitError(error) && error.code === 'not-ready') throw error
    const { topic, partition, offset } = record
    world.logger.warn({ topic, partition, offset, err: error }, 'record refused')
    return [deadLetterOutput({ record, error, tenant: extTenant(topic) }, world.clock)]
  }
}
