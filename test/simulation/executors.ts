/** Agents at work: they claim, run, emit, renew, settle, oversleep and crash. */
import { isAmbitError } from '#kernel/errors.ts'
import type { ClaimedItem } from '#services/mailbox-dispatcher/claim-messages.ts'
import type { Facts, SeenSettle } from './facts.ts'
import type { Producer } from './producers.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export interface Workplace {
  world: World
  facts: Facts
  producer: Producer
  isOver(): boolean
}

interface Job {
  tenant: string
  agent: string
  executor: string
  item: ClaimedItem
  random: Random
  expiresAt: number
}

/** One executor's life; ends when the workplace closes. */
export async function runExecutor(
  place: Workplace,
  at: { tenant: string; agent: string; executor: string },
  random: Random,
): Promise<void> {
  const { world, facts } = place
  const { tenant, agent, executor } = at
  while (!place.isOver()) {
    const request = {
      executor,
      leaseMs: random.between(1200, 4000),
      waitMs: 3000,
      max: random.between(1, 3),
    }
    const items = await world
      .call('dispatcher', doors => doors.mailbox!.claim(tenant, agent, request))
      .catch(async error => {
        noteSurprise(facts, 'claim', error)
        await world.clock.sleep(random.between(100, 500))
        return []
      })
    for (const item of items) {
      const { token, handle } = item.lease
      const seen = { tenant, agent, executor, token, handle, messageId: item.message.id }
      facts.claims.push({ ...seen, storeAt: world.storeNow(), at: world.clock.now() })
    }
    for (const item of items) {
      const { expiresAt } = item.lease
      const job = { ...at, item, random, expiresAt: Date.parse(expiresAt) }
      if (random.chance(0.3)) void work(place, job).catch(() => {})
      else await work(place, job)
    }
  }
}

/** One run, well or badly behaved. */
async function work(place: Workplace, job: Job): Promise<void> {
  const { world } = place
  const { random } = job
  const isCalm = !world.faults.isActive()
  // What is left when everything is calm must be finished within the bar.
  await world.clock.sleep(isCalm ? random.between(1, 10) : random.between(5, 400))
  if (!isCalm && world.faults.strikes('F26', 0.15)) await emit(place, job)
  const mood = isCalm ? 0 : random.next()
  if (mood < 0.7) return settle(place, job, 'complete')
  if (mood < 0.76) return settle(place, job, 'fail')
  if (mood < 0.82) {
    await renew(place, job)
    await world.clock.sleep(random.between(5, 800))
    return settle(place, job, 'complete')
  }
  if (mood < 0.88) {
    await settle(place, job, 'complete')
    return settle(place, job, 'complete')
  }
  if (mood < 0.94) {
    await world.clock.sleep(random.between(1000, 6000))
    return settle(place, job, random.pick(['complete', 'fail']))
  }
  // The rest crashes and never settles.
}

async function renew({ world, facts }: Workplace, job: Job): Promise<void> {
  const { tenant, item, random } = job
  const { handle } = item.lease
  try {
    const leaseMs = random.between(500, 3000)
    const body = { handle, leaseMs }
    const renewed = await world.call('dispatcher', doors =>
      doors.mailbox!.renew(tenant, item.message.id, body),
    )
    job.expiresAt = Date.parse(renewed.lease.expiresAt)
  } catch (error) {
    // Whether it happened is unknown, so nothing is known about the end of the lease.
    if (!isStale(error)) job.expiresAt = Number.POSITIVE_INFINITY
    noteSurprise(facts, 'renew', error)
  }
}

async function settle(place: Workplace, job: Job, op: SeenSettle['op']): Promise<void> {
  const { world, facts } = place
  const { tenant, item, random } = job
  const { handle } = item.lease
  const isOk = random.chance(0.9)
  const usage = { inputTokens: random.below(50), cost: '0.001' }
  const result = { ok: isOk, stopReason: isOk ? 'end' : 'gave-up', usage }
  const retryable = random.chance(0.8)
  for (let tries = 0; tries < 6; tries++) {
    const calledAt = world.storeNow()
    const note = (answer: SeenSettle['answer']) => {
      const { expiresAt } = job
      const at = world.clock.now()
      const messageId = item.message.id
      facts.settles.push({ tenant, messageId, handle, op, answer, calledAt, expiresAt, at })
    }
    try {
      const settled = await world.call('dispatcher', ({ mailbox }) =>
        op === 'complete'
          ? mailbox!.complete(tenant, item.message.id, { handle, result })
          : mailbox!.fail(tenant, item.message.id, { handle, error: 'no luck', retryable }),
      )
      return note(settled.isRepeat ? 'repeat' : 'ok')
    } catch (error) {
      noteSurprise(facts, op, error)
      if (isStale(error)) return note('stale')
      await world.clock.sleep(random.between(50, 600))
    }
  }
}

/** Events under the lease: straight back to the own trigger, or by way of another agent (F26). */
async function emit({ world, facts, producer }: Workplace, job: Job): Promise<void> {
  const { tenant, item, random, executor } = job
  const source = `/${tenant}/agents/${job.agent}`
  const count = random.between(1, 2)
  for (let n = 0; n < count; n++) {
    const type = random.pick(['loop.ping', 'loop.pong', 'order.created'])
    const made = producer.make(tenant, { source, type })
    const event = { ...made, id: `${executor}-${made.id}` }
    for (let tries = 0; tries < 4; tries++) {
      try {
        const { handle } = item.lease
        await world.call('ingest', doors => doors.publish!(tenant, [event], handle))
        facts.emitted.push({ tenant, source, id: event.id, messageId: item.message.id })
        break
      } catch {
        await world.clock.sleep(random.between(50, 400))
      }
    }
  }
}

const isStale = (error: unknown) => isAmbitError(error) && error.code === 'stale-lease'

const EXPECTED = ['not-ready', 'store-unavailable', 'log-unavailable', 'stale-lease', 'conflict']

function noteSurprise(facts: Facts, op: string, error: unknown): void {
  if (isAmbitError(error) && EXPECTED.includes(error.code)) return
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  facts.surprises.push(`${op}: ${text.split('\n').slice(0, 4).join(' | ')}`)
}
