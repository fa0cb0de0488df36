/**
 * Which operations are this replica's: those of its agent in the partitions of `agent.operations`
 * that its consumer group gave it. The group is the agent's own: a replica of another agent would
 * ask for closings in the wrong mailbox. A new owner takes up everything that is unfinished there.
 */
import { partitionOf } from '#kernel/domain/ids.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { Consumption, EventLog, TopicPartition } from '#kernel/ports/event-log.ts'
import type { Operation } from '../operations/operation.ts'
import type { OperationRunner } from '../operations/operation-runner.ts'
import { sessionPartitionKey } from './session-table.ts'

const TOPIC = 'agent.operations'

export interface OperationOwnerWorld {
  log: EventLog
  tables: LiveTables
  agent: string
  everything(): Operation[]
  startRunner(): OperationRunner
}

/** Runs operations of the partitions that are owned, until stopped. */
export async function ownOperations(world: OperationOwnerWorld): Promise<Consumption> {
  const partitions = (await world.log.endOffsets([TOPIC])).length
  let runner: OperationRunner | undefined
  let owned = new Set<number>()
  const isOwned = (operation: Operation) =>
    operation.agent === world.agent &&
    owned.has(partitionOf(sessionPartitionKey(operation), partitions))
  world.tables.onChange(({ topic, document }) => {
    if (topic !== TOPIC || document.kind !== 'operation') return
    const { value } = document.doc as { value: Operation }
    if (isOwned(value)) runner?.take(value)
  })
  const onAssigned = async (given: TopicPartition[]) => {
    await runner?.stop()
    owned = new Set(given.map(({ partition }) => partition))
    runner = world.startRunner()
    await world.tables.barrier()
    for (const operation of world.everything().filter(isOwned)) runner.take(operation)
  }
  const consumption = await world.log.consume({
    ...{ group: `agent.${world.agent}`, topics: [TOPIC], onAssigned },
    // Records are read from the live table; the group is for ownership alone.
    handle: batch => batch.commit((batch.records.at(-1)?.offset ?? 0) + 1),
  })
  return {
    async stop() {
      await consumption.stop()
      await runner?.stop()
    },
  }
}
