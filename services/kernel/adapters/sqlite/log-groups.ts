/**
 * Consumer groups of one process (L2 to L4). A stream belongs to one member at a time; streams
 * of one member run beside each other, so that a slow partition does not hold up the others.
 *
 * - C1 a claim hands out one batch at a time, and none once it is lost.
 * - C2 a new claim starts at the durable committed offset, after the batch that its predecessor
 *   has in hand, or after `HANDOVER_MS`: from then on the old one's commits are refused anyway.
 */
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type {
  ConsumeOptions,
  Consumption,
  LogRecord,
  RecordBatch,
} from '#kernel/ports/event-log.ts'
import { createDeliveryPace, type DeliveryPace } from './delivery-pace.ts'
import { shareOut } from './group-assignment.ts'
import type { GroupOffsets } from './group-offsets.ts'
import type { LogStreams } from './log-streams.ts'
import type { Stream } from './log-topics.ts'

export interface GroupContext {
  streams: LogStreams
  offsets: GroupOffsets
  clock: Pick<Clock, 'sleep'>
  isExtIngress(topic: string): boolean
}

export interface LogGroups {
  consume(options: ConsumeOptions): Promise<Consumption>
  stop(): Promise<void>
}

/** A member's hold on one stream. */
interface Claim {
  readonly stream: Stream
  readonly member: Member
  readonly pace: DeliveryPace
  /** Ends when the batch in hand of the last owner does. */
  readonly predecessor: Promise<void>
  isOwned: boolean
  /** True once its member was told and the start offset is known. */
  isStarted: boolean
  position: number
  /** The batch in hand and those after it; ends when there is nothing to hand out. */
  running: Promise<void> | undefined
  wake(): void
}

interface Member {
  readonly group: string
  readonly options: ConsumeOptions
  readonly claims: Map<Stream, Claim>
  readonly aborting: AbortController
  /** No batch is begun while `onAssigned` runs. */
  isPaused: boolean
  isStopping: boolean
  settling: Promise<void> | undefined
  /** The claims changed since `onAssigned` was called. */
  isStale: boolean
}

const BATCH_MAX = 500
const HANDOVER_MS = 5_000

/** Groups over the streams of one log. */
export function createLogGroups(context: GroupContext): LogGroups {
  const { streams, isExtIngress } = context
  const groups = new Map<string, Set<Member>>()

  function topicsOf({ options }: Member): string[] {
    const ext = options.withExtIngress ? streams.storedTopics().filter(isExtIngress) : []
    return [...new Set([...options.topics, ...ext])]
  }

  function rebalance(group: string): void {
    const members = [...(groups.get(group) ?? [])].filter(({ isStopping }) => !isStopping)
    const wanted = shareOut(
      members.map(member => ({
        member,
        may: new Set(topicsOf(member).flatMap(streams.of)),
        has: new Set(member.claims.keys()),
      })),
    )
    const released = new Map<Stream, Promise<void>>()
    for (const member of members) {
      for (const claim of member.claims.values()) {
        if (wanted.get(claim.stream) === member) continue
        release(claim)
        released.set(claim.stream, claim.running ?? Promise.resolve())
      }
    }
    for (const [stream, member] of wanted) {
      if (member.claims.has(stream)) continue
      claim(context, member, stream, released.get(stream) ?? Promise.resolve())
    }
    for (const member of members) if (member.isStale) settle(context, member)
  }

  const forget = streams.onTopic(topic => {
    if (!isExtIngress(topic)) return
    for (const [group, members] of groups) {
      if ([...members].some(({ options }) => options.withExtIngress)) rebalance(group)
    }
  })

  async function leave(member: Member): Promise<void> {
    member.isStopping = true
    member.aborting.abort()
    await Promise.all([...member.claims.values()].map(({ running }) => running))
    for (const claim of member.claims.values()) release(claim)
    const members = groups.get(member.group)
    members?.delete(member)
    if (members?.size === 0) groups.delete(member.group)
    else rebalance(member.group)
  }

  async function consume(options: ConsumeOptions): Promise<Consumption> {
    const member = newMember(options)
    const members = groups.get(options.group) ?? new Set()
    groups.set(options.group, members.add(member))
    rebalance(options.group)
    let leaving: Promise<void> | undefined
    return {
      stop() {
        leaving ??= leave(member)
        return leaving
      },
    }
  }

  return {
    consume,
    async stop() {
      forget()
      await Promise.all([...groups.values()].flatMap(members => [...members].map(leave)))
    },
  }
}

function newMember(options: ConsumeOptions): Member {
  return {
    group: options.group,
    options,
    claims: new Map(),
    aborting: new AbortController(),
    isPaused: false,
    isStopping: false,
    settling: undefined,
    isStale: false,
  }
}

function release(claim: Claim): void {
  claim.isOwned = false
  claim.stream.listeners.delete(claim.wake)
  claim.member.claims.delete(claim.stream)
  claim.member.isStale = true
}

function claim(
  context: GroupContext,
  member: Member,
  stream: Stream,
  predecessor: Promise<void>,
): void {
  const made: Claim = {
    stream,
    member,
    pace: createDeliveryPace(context.clock, member.aborting.signal),
    predecessor,
    isOwned: true,
    isStarted: false,
    position: 0,
    running: undefined,
    wake: () => wake(context, made),
  }
  member.claims.set(stream, made)
  member.isStale = true
  stream.listeners.add(made.wake)
}

/** Tells a member what it owns now, then starts what is new. One run at a time per member. */
function settle(context: GroupContext, member: Member): void {
  member.settling ??= (async () => {
    const pace = createDeliveryPace(context.clock, member.aborting.signal)
    member.isPaused = true
    while (member.isStale && !member.isStopping) {
      member.isStale = false
      const claims = [...member.claims.values()]
      try {
        await Promise.all(claims.map(({ running }) => running))
        await Promise.all(claims.map(each => prepare(context, each)))
        await member.options.onAssigned?.(
          claims.map(({ stream: { topic, partition } }) => ({ topic, partition })),
        )
        for (const each of claims) each.isStarted = true
      } catch {
        member.isStale = true
        await pace.afterFailure()
      }
    }
    member.isPaused = false
    member.settling = undefined
    for (const each of member.claims.values()) each.wake()
  })()
}

async function prepare(context: GroupContext, claim: Claim): Promise<void> {
  if (claim.isStarted) return
  const { group, aborting } = claim.member
  const late = new AbortController()
  const signal = AbortSignal.any([late.signal, aborting.signal])
  await Promise.race([
    claim.predecessor.finally(() => late.abort()),
    context.clock.sleep(HANDOVER_MS, signal).catch(() => {}),
  ])
  claim.position = await context.offsets.durable(group, claim.stream)
}

function isReady(claim: Claim): boolean {
  const { member, stream } = claim
  if (!claim.isOwned || !claim.isStarted || member.isPaused || member.isStopping) return false
  return claim.position < stream.durableEnd
}

function wake(context: GroupContext, claim: Claim): void {
  if (isReady(claim)) claim.running ??= Promise.resolve().then(() => run(context, claim))
}

async function run(context: GroupContext, claim: Claim): Promise<void> {
  const { member, stream, pace } = claim
  while (isReady(claim)) {
    try {
      const end = stream.durableEnd
      const max = member.options.batchMax ?? BATCH_MAX
      const records = context.streams.read(stream, claim.position, max)
      if (records.length > 0) await handOver(context, claim, records)
      // Where compaction left nothing, the end was reached.
      if (claim.isOwned) claim.position = (records.at(-1)?.offset ?? end - 1) + 1
      await pace.afterSuccess()
    } catch {
      await pace.afterFailure()
    }
  }
  claim.running = undefined
}

/** Repeats one batch until it is handled or the claim has ended (L3). */
async function handOver(context: GroupContext, claim: Claim, records: LogRecord[]): Promise<void> {
  const batch = batchOf(context, claim, records)
  while (claim.isOwned) {
    try {
      return await claim.member.options.handle(batch)
    } catch (error) {
      if (claim.member.isStopping) throw error
      await claim.pace.afterFailure()
    }
  }
}

function batchOf({ offsets }: GroupContext, claim: Claim, records: LogRecord[]): RecordBatch {
  const { stream, member } = claim
  const { topic, partition } = stream
  return {
    topic,
    partition,
    records,
    isOwned: () => claim.isOwned,
    async commit(offset) {
      if (!claim.isOwned) throw notOwner(claim)
      await offsets.store({ group: member.group, topic, partition, offset })
    },
    async heartbeat() {
      if (!claim.isOwned) throw notOwner(claim)
    },
  }
}

function notOwner({ member, stream }: Claim): AmbitError {
  return new AmbitError(
    'conflict',
    `Expected the member of ${member.group} to own ${stream.topic}/${stream.partition}, but it ` +
      'was taken away. Drop the batch; its next owner repeats it.',
  )
}
