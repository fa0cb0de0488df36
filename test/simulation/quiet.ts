/** Is anything still on its way? */
import type { Fate } from '#kernel/domain/fate.ts'
import { isFinal } from '#kernel/domain/fate.ts'
import type { Decision, MailboxTransition } from '#schemas/generated/records.ts'
import type { History } from './history.ts'
import { type Violation, violation } from './violation.ts'
import type { World } from './world.ts'

/** Topics by the group that must have read them to the end. */
const READ_BY: Record<string, RegExp> = {
  registry: /^registry\.changes$/,
  match: /^ingress\./,
  judge: /^evaluations$/,
  guard: /^(candidates|outcomes)$/,
  'mailbox-dispatcher': /^mailbox$/,
}

const SETTLED = ['done', 'dead', 'cancelled', 'expired']

/**
 * What is on its way: every unread record, candidate without a final fate and open message, the
 * last only in a world whose messages somebody settles.
 */
export function unfinished({ history, plan }: World): Violation[] {
  return [
    ...unread(history, plan.groups).map(text => violation('I1', `not read: ${text}`)),
    ...waitingCandidates(history).map(id =>
      violation('I1', `candidate ${id} has no final fate when quiet`, id),
    ),
    ...(plan.groups.includes('mailbox-dispatcher') ? openMessages(history) : []).map(id =>
      violation('I1', `message ${id} is not settled when quiet`, id),
    ),
  ]
}

export const isQuiet = (world: World) => unfinished(world).length === 0

/** Partitions that one of the groups has not finished: `group topic/partition committed of end`. */
export function unread(history: History, groups: readonly string[]): string[] {
  const committed = new Map<string, number>()
  for (const { group, topic, partition, offset } of history.commits) {
    committed.set(`${group} ${topic}/${partition}`, offset)
  }
  return groups.flatMap(group =>
    history
      .topics()
      .filter(topic => READ_BY[group]?.test(topic))
      .flatMap(topic => [...endsOf(history, topic)])
      .flatMap(([place, end]) => {
        const at = committed.get(`${group} ${place}`) ?? 0
        return at < end ? [`${group} ${place}: ${at} of ${end}`] : []
      }),
  )
}

function endsOf(history: History, topic: string): Map<string, number> {
  const ends = new Map<string, number>()
  for (const { record } of history.of(topic)) {
    ends.set(`${topic}/${record.partition}`, record.offset + 1)
  }
  return ends
}

/** The newest decision of each candidate. */
function newestDecisions(history: History): Map<string, Decision> {
  const newest = new Map<string, Decision>()
  for (const { value } of history.values('decisions', 'decision')) {
    const known = newest.get(value.candidateId)
    if (!known || known.seq <= value.seq) newest.set(value.candidateId, value)
  }
  return newest
}

/** Candidates of a topic without a final fate. */
export function waitingCandidates(
  history: History,
  topic: 'candidates' | 'evaluations' = 'candidates',
): string[] {
  const newest = newestDecisions(history)
  const ids = new Set(
    history
      .values(topic, 'candidate')
      .filter(({ value }) => value.kind === 'candidate')
      .map(({ value }) => value.candidateId),
  )
  return [...ids].filter(id => {
    const fate = newest.get(id)?.fate as Fate | undefined
    return fate === undefined || !isFinal(fate)
  })
}

/** The newest transition of each message, by version and token. */
export function newestTransitions(history: History): Map<string, MailboxTransition> {
  const newest = new Map<string, MailboxTransition>()
  for (const { value } of history.values('mailbox.state', 'mailbox-transition')) {
    const known = newest.get(value.messageId)
    const isNewer =
      !known ||
      value.version > known.version ||
      (value.version === known.version && value.token >= known.token)
    if (isNewer) newest.set(value.messageId, value)
  }
  return newest
}

/** Messages that were appended and are not settled. */
function openMessages(history: History): string[] {
  const newest = newestTransitions(history)
  const ids = new Set(history.values('mailbox', 'message').map(({ value }) => value.id))
  return [...ids].filter(id => !SETTLED.includes(newest.get(id)?.state ?? ''))
}
