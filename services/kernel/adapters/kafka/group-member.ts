/**
 * Membership in a consumer group, apart from reading. A *tenure* is the time in which a member
 * owns what one generation of the group gave it.
 *
 * - The broker refuses commits of an older generation; that is the fence.
 * - Between heartbeats a tenure is believed for as long as the broker cannot have given the
 *   partitions away: the shorter of session and rebalance timeout after the last heartbeat that
 *   was answered, counted from when it was sent.
 * - A tenure that was doubted once is over, even if a later heartbeat is answered: a batch may have
 *   been left undone meanwhile, and a later one must not be finished above it (I4).
 * - When the group changes, the batches in hand may end; then the member joins again.
 */
import type { Broker } from 'kafkajs/src/cluster/index.js'
import { AmbitError } from '../../errors.ts'
import type { Position, TopicPartition } from '../../ports/event-log.ts'
import { byTopic, type ClusterSession, placeKey } from './cluster-session.ts'
import {
  ASSIGNER,
  assignPartitions,
  decodeAssignment,
  encodeAssignment,
  encodeTopics,
  topicsOf,
} from './group-assignment.ts'
import { type KafkaLogger, kafkaErrorType } from './kafka-connection.ts'
import { createBackoff, pause } from './wait.ts'

/** Times of a group, in ms. */
export interface GroupTimes {
  /** A member that is not heard of for so long is taken for dead. Default 10 000 */
  sessionMs: number
  /** How long a changing group waits for a member to join again. Default 30 000 */
  rebalanceMs: number
  /** Between heartbeats. Default 1000 */
  heartbeatMs: number
}

/** One generation's ownership. */
export interface Tenure {
  partitions: TopicPartition[]
  /** False once another member may own the partitions; then it is false for good. */
  holds(): boolean
  /** Aborts when the tenure ends. */
  signal: AbortSignal
  /** Throws when the group is changing or the tenure has ended. */
  assertSteady(): void
  /** True when no new work should begin: the group is changing, or this member is stopping. */
  isEnding(): boolean
  commit(positions: Position[]): Promise<void>
  /** Committed offsets; -1 where the group has none. */
  committed(): Promise<Position[]>
}

/** What a member needs from its user. */
export interface MemberOptions {
  /**
   * Connections for membership alone. A join that is cut off leaves a member behind that nobody is,
   * for which the group waits; so no failure of reading may cut it.
   */
  session: ClusterSession
  /** Knows topics and leaders for whoever reads. */
  reading: ClusterSession
  logger: KafkaLogger
  group: string
  times: GroupTimes
  /** Broker names of the topics wanted now, all of them existing. */
  topics(): Promise<string[]>
  /** Ownership has begun; must not throw. */
  begin(tenure: Tenure): void
  /** Ownership is about to end: no new batches; resolves when those in hand have ended. */
  drain(tenure: Tenure): Promise<void>
}

/** A running membership. */
export interface GroupMember {
  /** Joins anew because the wanted topics have changed. */
  rejoin(): void
  /** Waits for the batches in hand, then leaves. */
  stop(): Promise<void>
}

interface Member extends MemberOptions {
  memberId: string
  stopping: AbortController
  /** Replaced with every tenure; aborts to make the member join again. */
  changing: AbortController
}

/** Starts to join at once and goes on until `stop`, whatever happens to the brokers. */
export function startGroupMember(options: MemberOptions): GroupMember {
  const member: Member = {
    ...options,
    memberId: '',
    stopping: new AbortController(),
    changing: new AbortController(),
  }
  const running = run(member)
  return {
    rejoin: () => member.changing.abort(),
    async stop() {
      member.stopping.abort()
      await running
    },
  }
}

async function run(member: Member): Promise<void> {
  const { stopping, logger, group, session } = member
  const backoff = createBackoff(50, 2000)
  while (!stopping.signal.aborted) {
    try {
      member.changing = new AbortController()
      const tenure = await join(member)
      backoff.reset()
      await serve(member, tenure)
    } catch (error) {
      const reason = kafkaErrorType(error)
      if (reason === 'UNKNOWN_MEMBER_ID') member.memberId = ''
      if (reason === 'REBALANCE_IN_PROGRESS' || reason === 'UNKNOWN_MEMBER_ID') continue
      logger.warn({ group, reason }, 'joining the group failed and is tried again')
      await pause(backoff.next(), stopping.signal)
      if (!stopping.signal.aborted) await session.recover(error)
    }
  }
  await leave(member)
}

/** A stopping process does not wait longer for a broker that is away. */
const LEAVE_MS = 2000

async function leave({ session, group, memberId }: Member): Promise<void> {
  if (memberId === '') return
  const leaving = session
    .coordinator(group)
    .then(broker => broker.leaveGroup({ groupId: group, memberId }))
    // The broker will notice by the session timeout.
    .catch(() => undefined)
  const limit = new AbortController()
  await Promise.race([leaving, pause(LEAVE_MS, limit.signal)])
  limit.abort()
}

async function join(member: Member): Promise<ActiveTenure> {
  const { session, reading, group, times } = member
  const topics = await member.topics()
  const broker = await session.coordinator(group)
  const joined = await broker.joinGroup({
    groupId: group,
    memberId: member.memberId,
    sessionTimeout: times.sessionMs,
    rebalanceTimeout: times.rebalanceMs,
    groupProtocols: [{ name: ASSIGNER, metadata: encodeTopics(topics) }],
  })
  member.memberId = joined.memberId
  const isLeader = joined.leaderId === joined.memberId
  const sentAt = performance.now()
  const { memberAssignment } = await broker.syncGroup({
    groupId: group,
    generationId: joined.generationId,
    memberId: joined.memberId,
    groupAssignment: isLeader ? await assignment(member, joined.members) : [],
  })
  const partitions = decodeAssignment(memberAssignment)
  // The partitions' leaders must be known before reading starts.
  const known = new Set(topics)
  if (partitions.some(({ topic }) => !known.has(topic))) {
    await reading.track([...new Set([...topics, ...partitions.map(({ topic }) => topic)])])
  }
  return createTenure(member, broker, { generation: joined.generationId, partitions, sentAt })
}

async function assignment(
  { reading }: Member,
  members: { memberId: string; memberMetadata: Buffer }[],
) {
  const asked = topicsOf(members)
  const topics = await reading.track(asked)
  // Others saw them: a broker that is behind answered. Left out, they would have no owner.
  const unseen = asked.find(topic => !topics.includes(topic))
  if (unseen !== undefined) throw new Error(`expected the topic ${unseen}, got none yet`)
  const places = topics.flatMap(topic => reading.partitionsOf(topic))
  const memberIds = members.map(({ memberId }) => memberId)
  return encodeAssignment(assignPartitions(memberIds, places))
}

interface ActiveTenure extends Tenure {
  memberId: string
  generation: number
  broker: Broker
  /** When the last answered heartbeat was sent, on the monotonic clock. */
  beatAt: number
  ended: AbortController
}

/** Ends as soon as a drain that takes too long would let the broker give up on this member. */
function drainMs({ rebalanceMs }: GroupTimes): number {
  return rebalanceMs / 2
}

async function serve(member: Member, tenure: ActiveTenure): Promise<void> {
  const { stopping, changing, times } = member
  member.begin(tenure)
  const beating = beat(member, tenure)
  await anyAborted(stopping.signal, changing.signal, tenure.signal)
  const drained = member.drain(tenure)
  const limit = new AbortController()
  // A member that stops finishes its batches; one that must join again has to hurry.
  if (!stopping.signal.aborted) void pause(drainMs(times), limit.signal).then(() => limit.abort())
  await Promise.race([drained, anyAborted(tenure.signal, limit.signal)])
  limit.abort()
  tenure.ended.abort()
  await beating
}

function anyAborted(...signals: AbortSignal[]): Promise<void> {
  const any = AbortSignal.any(signals)
  if (any.aborted) return Promise.resolve()
  return new Promise(resolve => any.addEventListener('abort', () => resolve(), { once: true }))
}

async function beat(member: Member, tenure: ActiveTenure): Promise<void> {
  const { group, times, changing } = member
  while (!tenure.signal.aborted) {
    await pause(times.heartbeatMs, tenure.signal)
    if (tenure.signal.aborted) return
    const sentAt = performance.now()
    const { memberId, generation } = tenure
    try {
      await tenure.broker.heartbeat({ groupId: group, memberId, groupGenerationId: generation })
      tenure.beatAt = sentAt
    } catch (error) {
      const type = kafkaErrorType(error)
      if (type === 'REBALANCE_IN_PROGRESS') {
        tenure.beatAt = sentAt
        changing.abort()
      } else if (isLost(type)) {
        member.memberId = type === 'UNKNOWN_MEMBER_ID' ? '' : member.memberId
        tenure.ended.abort()
      } else {
        await findBroker(member, tenure, error)
        if (!tenure.holds()) tenure.ended.abort()
      }
    }
  }
}

function isLost(type: string): boolean {
  return type === 'UNKNOWN_MEMBER_ID' || type === 'ILLEGAL_GENERATION'
}

async function findBroker(member: Member, tenure: ActiveTenure, error: unknown): Promise<void> {
  await member.session.recover(error)
  const found = await member.session.coordinator(member.group).catch(() => undefined)
  if (found) tenure.broker = found
}

function createTenure(
  member: Member,
  broker: Broker,
  given: { generation: number; partitions: TopicPartition[]; sentAt: number },
): ActiveTenure {
  const { group, times, changing } = member
  const lease = Math.min(times.sessionMs, times.rebalanceMs)
  const ended = new AbortController()
  const { memberId } = member
  const tenure: ActiveTenure = {
    memberId,
    generation: given.generation,
    partitions: given.partitions,
    broker,
    beatAt: given.sentAt,
    ended,
    signal: ended.signal,
    holds() {
      if (performance.now() - tenure.beatAt >= lease) ended.abort()
      return !ended.signal.aborted
    },
    assertSteady() {
      if (!tenure.holds() || changing.signal.aborted) throw notOwner(group)
    },
    isEnding: () => !tenure.holds() || changing.signal.aborted || member.stopping.signal.aborted,
    commit: together(positions => commit(member, tenure, positions)),
    async committed() {
      const topics = byTopic(given.partitions, partition => ({ partition }))
      if (topics.length === 0) return []
      const { responses } = await tenure.broker.offsetFetch({ groupId: group, topics })
      return responses.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) })),
      )
    },
  }
  return tenure
}

/** Partitions that are stored in the same moment go into one request. */
function together(
  store: (positions: Position[]) => Promise<void>,
): (positions: Position[]) => Promise<void> {
  const waiting = new Map<string, Position>()
  let storing: Promise<void> | undefined
  return positions => {
    for (const position of positions) waiting.set(placeKey(position), position)
    storing ??= Promise.resolve().then(() => {
      const all = [...waiting.values()]
      waiting.clear()
      storing = undefined
      return store(all)
    })
    return storing
  }
}

/** Repeats over broker failures for as long as the tenure holds; the broker has the last word. */
async function commit(member: Member, tenure: ActiveTenure, positions: Position[]): Promise<void> {
  const topics = byTopic(positions, (partition, { offset }) => ({
    partition,
    offset: String(offset),
  }))
  const backoff = createBackoff(50, 1000)
  const { memberId, generation } = tenure
  const request = { groupId: member.group, memberId, groupGenerationId: generation, topics }
  for (;;) {
    if (!tenure.holds()) throw notOwner(member.group)
    try {
      await tenure.broker.offsetCommit(request)
      return
    } catch (error) {
      const type = kafkaErrorType(error)
      if (isLost(type) || type === 'REBALANCE_IN_PROGRESS') throw notOwner(member.group, error)
      await pause(backoff.next(), tenure.signal)
      await findBroker(member, tenure, error)
    }
  }
}

function notOwner(group: string, cause?: unknown): AmbitError {
  return new AmbitError(
    'conflict',
    `Expected to own the partition in group ${group}, got a change of owner. ` +
      'Drop this batch: its next owner gets it.',
    { expected: 'the owner', actual: 'no longer the owner', cause },
  )
}
