/** Ports that misbehave: what planted bugs put between a process and its log, store and pen. */
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { EventLog, FollowOptions, LogRecord, OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { Commit, StateStore } from '#kernel/ports/state-store.ts'

/** The same ports, with a log that is seen through the given change. */
export function withLog<P extends { log: EventLog }>(
  ports: P,
  change: (log: EventLog) => Partial<EventLog>,
): P {
  return { ...ports, log: { ...ports.log, ...change(ports.log) } }
}

/** Records are changed on their way to the log; where none is left, nothing is appended. */
export function withAppend<P extends { log: EventLog }>(
  ports: P,
  change: (records: OutgoingRecord[]) => OutgoingRecord[],
): P {
  return withLog(ports, log => ({
    append: async records => {
      const kept = change(records)
      return kept.length === 0 ? [] : log.append(kept)
    },
  }))
}

/** Records are changed on their way to who follows them. */
export function withFollowed<P extends { log: EventLog }>(
  ports: P,
  change: (records: LogRecord[], options: FollowOptions) => LogRecord[],
): P {
  return withLog(ports, log => ({
    follow: options =>
      log.follow({
        ...options,
        onRecords: records => options.onRecords(change(records, options)),
      }),
  }))
}

/** The same ports, with a store that is seen through the given change. */
export function withStore<P extends { store: StateStore }>(
  ports: P,
  change: (store: StateStore) => Partial<StateStore>,
): P {
  return { ...ports, store: { ...ports.store, ...change(ports.store) } }
}

/** Commits are changed on their way to the store. */
export function withCommits<P extends { store: StateStore }>(
  ports: P,
  change: (commit: Commit) => Commit,
): P {
  return withStore(ports, store => ({ commit: commit => store.commit(change(commit)) }))
}

/** A store whose counters are counted and not compared. */
export function unlimited(store: StateStore): Partial<StateStore> {
  return {
    load: async request => {
      const loaded = await store.load(request)
      return { ...loaded, counters: new Map([...loaded.counters.keys()].map(name => [name, 0])) }
    },
    commit: commit => store.commit(withoutLimits(commit)),
  }
}

export function withoutLimits(commit: Commit): Commit {
  return { ...commit, add: commit.add?.map(({ limit: _limit, ...change }) => change) }
}

/** Outputs are changed before they are encoded. */
export function withOutputs(
  { encode }: RecordWriter,
  change: (output: Output) => Output,
): RecordWriter {
  return { encode: (output, extra) => encode(change(output), extra) }
}

type Value = Record<string, unknown>

/** Values of some topics are changed before they are encoded. */
export function withValues(
  writer: RecordWriter,
  isMeant: (topic: string) => boolean,
  change: (value: Value) => Value,
): RecordWriter {
  return withOutputs(writer, output =>
    isMeant(output.topic) && output.value
      ? ({ ...output, value: change(output.value as Value) } as Output)
      : output,
  )
}

/** Events of some topics get an identity of the moment, each time that they are written. */
export function withNewIdentity(
  writer: RecordWriter,
  isMeant: (topic: string) => boolean,
  now: () => number,
): RecordWriter {
  return withValues(writer, isMeant, ({ attributes, ...rest }) => {
    const own = attributes as Value
    const id = `${String(own.id)}/${now()}`
    return { ...rest, attributes: { ...own, id, dedupkey: id } }
  })
}
