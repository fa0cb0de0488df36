/** Partition counts of the topics in use; they never change, so they are asked for once. */
import { AmbitError } from '../../errors.ts'
import type { TopicPartition } from '../../ports/event-log.ts'
import type { ClusterSession } from './cluster-session.ts'
import { kafkaErrorType } from './kafka-connection.ts'
import { createShared, pause } from './wait.ts'

/** Knows topics by their broker names. */
export interface TopicDirectory {
  /** Partitions of a topic that `load` found; 0 for one that is not known. */
  countOf(topic: string): number
  /** Looks up the topics not known yet; those that do not exist stay unknown. */
  load(topics: readonly string[]): Promise<void>
  /** All partitions of known topics. */
  placesOf(topics: readonly string[]): TopicPartition[]
}

/** How long work on an unreachable cluster is repeated before the caller hears of it. */
export const PATIENCE_MS = 5000

/** A directory on its user's session. */
export function createTopicDirectory(session: ClusterSession): TopicDirectory {
  const counts = new Map<string, number>()
  const asked = new Set<string>()
  const lookUp = createShared(async () => {
    // What is asked for meanwhile belongs to the next look-up.
    const looked = [...asked]
    const topics = await session.track(looked)
    for (const topic of topics) counts.set(topic, session.partitionsOf(topic).length)
    for (const topic of looked) if (!counts.has(topic)) asked.delete(topic)
  })
  const countOf = (topic: string) => counts.get(topic) ?? 0
  return {
    countOf,
    async load(topics) {
      const unknown = topics.filter(topic => !counts.has(topic))
      if (unknown.length === 0) return
      for (const topic of unknown) asked.add(topic)
      await patiently(session, 'name its topics', lookUp)
    },
    placesOf: topics =>
      topics.flatMap(topic =>
        Array.from({ length: countOf(topic) }, (_, partition) => ({ topic, partition })),
      ),
  }
}

/**
 * Repeats `work` on fresh connections for `PATIENCE_MS`.
 *
 * @throws AmbitError `log-unavailable`.
 */
export async function patiently<T>(
  session: ClusterSession,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(PATIENCE_MS)
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AmbitError) throw error
      if (signal.aborted) throw unavailable(what, error)
      await pause(100, signal)
      await session.recover(error)
    }
  }
}

/** A failure of the brokers, as callers of the port see it. */
export function unavailable(what: string, cause: unknown): AmbitError {
  if (cause instanceof AmbitError) return cause
  return new AmbitError(
    'log-unavailable',
    `Expected the event log to ${what}, got ${kafkaErrorType(cause)}. Try again when it is back.`,
    { cause },
  )
}

/** A topic that nobody created. */
export function missingTopics(topics: readonly string[]): AmbitError {
  return new AmbitError(
    'log-unavailable',
    `Expected the topics ${topics.join(', ')}, got none. Run \`ambit topics apply\`.`,
    { expected: topics.join(', '), actual: 'no such topic' },
  )
}
