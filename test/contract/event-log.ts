/**
 * The contract of the EventLog port (L1 to L5), one suite for every adapter:
 *
 * ```ts
 * eventLogContract('sqlite event log', async topics => ({ log, createTopic, close }))
 * ```
 *
 * Optional members of the world switch on what only some adapters can show: a second process,
 * a crash, a seized partition, compaction.
 */
import { describe } from 'node:test'
import { appendContract } from './event-log-append.ts'
import { consumeContract } from './event-log-consume.ts'
import { followContract } from './event-log-follow.ts'
import { membershipContract } from './event-log-membership.ts'
import type { MakeWorld } from './event-log-world.ts'

/** Runs the whole contract against the logs that `makeWorld` makes; `skip` says why not. */
export function eventLogContract(
  name: string,
  makeWorld: MakeWorld,
  skip: string | false = false,
): void {
  describe(`EventLog contract: ${name}`, { skip }, () => {
    appendContract(makeWorld)
    consumeContract(makeWorld)
    membershipContract(makeWorld)
    followContract(makeWorld)
  })
}
