/**
 * Makes due instants durable events. Events first, marks after them: what happens twice has the
 * same identity, and what was marked was appended.
 *
 * - S1 An entry that is being dispatched is nobody else's; its fate is applied when it is durable.
 * - S2 After an append that may or may not have happened, the entry is decided again.
 * - S3 Meetings are decided with calendars that were read to their end after the moment was taken,
 *   so what was changed by then is known.
 * - S4 At most `UNMARKED_MAX` events of a partition are without a mark, so that a new owner finds
 *   them.
 */
import type { FindAnchors } from '#kernel/domain/schedule/coming-instants.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Decision } from './decide-due.ts'
import { decideEntry, type ScheduleEntry, settleEntry } from './schedule-entry.ts'
import type { ScheduleIndex } from './schedule-index.ts'
import { missedNotice } from './schedule-notices.ts'
import { eventsOf, markOutput } from './time-events.ts'

export interface DispatcherWorld {
  log: EventLog
  writer: RecordWriter
  index: ScheduleIndex
  findAnchors(tenant: string): FindAnchors
  /** Resolves when every change of a calendar that was made before the call is known. */
  readCalendars(): Promise<void>
  /** Who is to be told about a subscription. */
  ownerOf(tenant: string, id: string): { owner: string; agent: string; name: string } | undefined
  /** Version of the zone database. */
  tz: string
  /** Told what became durable. */
  onDispatched?(decision: Decision, entry: ScheduleEntry): void
}

export interface Moment {
  nowMs: number
  watchedSinceMs: number
}

export interface Dispatcher {
  /** Begins one batch of what is due; undefined when nothing is. Rejects like `append`. */
  begin(moment: Moment): Promise<void> | undefined
  /** Appends the marks that are owed. */
  mark(nowMs: number): Promise<void>
  /** Marks owed to entries. */
  readonly owed: number
  /** Is it time to write marks before going on? */
  mustMark(): boolean
  owe(entry: ScheduleEntry): void
}

/** Entries of one batch. */
const BATCH = 1000
/** Events of a partition that may be without a mark (S4). */
export const UNMARKED_MAX = 20_000

type Decided = [ScheduleEntry, Decision]

export function createDispatcher(world: DispatcherWorld): Dispatcher {
  const { log, writer, index } = world
  let owed = new Set<ScheduleEntry>()
  let unmarked = new Map<number, number>()
  const settle = (decided: Decided[]) => {
    for (const [entry, decision] of decided) {
      const { partition } = entry
      const count = decision.firings.length + decision.gaps.length
      if (index.holds(entry)) {
        settleEntry(entry, decision)
        index.putBack(entry, decision)
        if (count > 0) owed.add(entry)
      }
      world.onDispatched?.(decision, entry)
      unmarked.set(partition, (unmarked.get(partition) ?? 0) + count)
    }
  }
  const dispatch = async (entries: ScheduleEntry[], moment: Moment): Promise<void> => {
    const decided = entries.map((entry): Decided => [entry, decideOf(world, entry, moment)])
    const outputs = decided.flatMap(([entry, decision]) =>
      outputsOf(world, entry, decision, moment.nowMs),
    )
    try {
      if (outputs.length > 0) await log.append(outputs.map(output => writer.encode(output)))
    } catch (error) {
      for (const entry of entries) index.putBack(entry)
      throw error
    }
    settle(decided)
  }
  const dispatchAnchored = async (entries: ScheduleEntry[], moment: Moment): Promise<void> => {
    try {
      await world.readCalendars()
    } catch (error) {
      for (const entry of entries) index.putBack(entry)
      throw error
    }
    await dispatch(entries.filter(index.holds), moment)
  }
  return {
    get owed() {
      return owed.size
    },
    mustMark: () => unmarked.values().some(count => count >= UNMARKED_MAX),
    owe: entry => void owed.add(entry),
    begin(moment) {
      const taken = index.takeDue(moment.nowMs, BATCH)
      if (taken.length === 0) return undefined
      const anchored = taken.filter(({ kind }) => kind === 'anchor')
      if (anchored.length === 0) return dispatch(taken, moment)
      const others = taken.filter(({ kind }) => kind !== 'anchor')
      return settleAll([dispatch(others, moment), dispatchAnchored(anchored, moment)])
    },
    async mark(nowMs) {
      const entries = [...owed].filter(index.holds)
      owed = new Set()
      unmarked = new Map()
      if (entries.length === 0) return
      const marks = entries.map(entry => writer.encode(markOutput(entry, nowMs, world.tz)))
      try {
        await log.append(marks)
      } catch (error) {
        for (const entry of entries) owed.add(entry)
        throw error
      }
    },
  }
}

/** Rejects as the first of them, when all have ended. */
export async function settleAll(running: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

function decideOf(world: DispatcherWorld, entry: ScheduleEntry, moment: Moment): Decision {
  return decideEntry(entry, moment, world.findAnchors(entry.tenant))
}

function outputsOf(
  world: DispatcherWorld,
  entry: ScheduleEntry,
  decision: Decision,
  nowMs: number,
): Output[] {
  const outputs = eventsOf(entry, decision, nowMs)
  const isLost = entry.kind === 'once' && decision.gaps.length > 0
  const told = isLost ? world.ownerOf(entry.tenant, entry.id) : undefined
  return told ? [...outputs, missedNotice(entry, { ...decision, ...told, nowMs })] : outputs
}
