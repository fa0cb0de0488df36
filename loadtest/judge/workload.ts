/**
 * A day of a small shop: several subscriptions with filters and cooldowns, and events of which
 * some come twice, many say what others said before, and few are about what somebody waits for.
 * Deterministic by the seed.
 */
import type { CloudEvent } from '#kernel/domain/event.ts'
import { createRandom, type Random } from '../seeded-random.ts'

/** A subscription, and the same filter and criterion as plain functions. */
export interface Watch {
  name: string
  type: string
  criterion: string
  filters: object[]
  cooldownMs: number
  takes(data: ShopData): boolean
  /** What a model would answer to the criterion. */
  isMet(text: string): boolean
}

export interface ShopEvent extends CloudEvent {
  data: ShopData
}

interface ShopData {
  text: string
  language: string
  severity: string
  stars: number
}

/** An hour, where ten seconds stand for a day. */
const COOLDOWN_MS = 400

const watch = (given: Partial<Watch> & Pick<Watch, 'name' | 'type' | 'criterion'>): Watch => ({
  ...{ filters: [], cooldownMs: 0, takes: () => true, isMet: () => false },
  ...given,
})

export const WATCHES: readonly Watch[] = [
  watch({
    ...{ name: 'refunds', type: 'shop.ticket', criterion: 'the customer asks for a refund' },
    isMet: text => /want my money back/.test(text),
  }),
  watch({
    ...{ name: 'leaving', type: 'shop.ticket', criterion: 'the customer threatens to leave' },
    ...{ filters: [{ exact: { 'data.language': 'en' } }], cooldownMs: COOLDOWN_MS },
    takes: ({ language }) => language === 'en',
    isMet: text => /go to another shop/.test(text),
  }),
  watch({
    ...{ name: 'payments', type: 'shop.alert', criterion: 'customers cannot pay' },
    ...{ filters: [{ exact: { 'data.severity': 'high' } }], cooldownMs: COOLDOWN_MS },
    takes: ({ severity }) => severity === 'high',
    isMet: text => /payments are refused/.test(text),
  }),
  watch({
    ...{ name: 'danger', type: 'shop.review', criterion: 'the product is dangerous' },
    filters: [{ cel: 'data.stars <= 2' }],
    takes: ({ stars }) => stars <= 2,
    isMet: text => /caught fire/.test(text),
  }),
  watch({
    ...{ name: 'requests', type: 'shop.chat', criterion: 'somebody asks the team to do something' },
    cooldownMs: COOLDOWN_MS,
    isMet: text => /could you please/.test(text),
  }),
]

const TOPICS = [
  'parcel',
  'invoice',
  'password',
  'discount',
  'colour',
  'delivery',
  'size',
  'account',
]
/** What each kind of event says when it is of interest, and how often the kind comes. */
const KINDS = [
  { type: 'shop.chat', upTo: 0.4, positive: 'could you please look at it' },
  { type: 'shop.ticket', upTo: 0.65, positive: 'I want my money back' },
  { type: 'shop.alert', upTo: 0.9, positive: 'payments are refused' },
  { type: 'shop.review', upTo: 1, positive: 'it caught fire' },
]
const POSITIVE = 0.05
/** Parts of all events that are sent again, and that say again what another one said. */
const AGAIN = 0.1
const SAME_TEXT = 0.25

/** So many deliveries of events, resent ones included. */
export function shopEvents(count: number, seed = 42): ShopEvent[] {
  const random = createRandom(seed)
  const events: ShopEvent[] = []
  while (events.length < count) {
    const share = random.share()
    const known = events[random.int(events.length)]
    if (known && share < AGAIN) events.push(known)
    else if (known && share < AGAIN + SAME_TEXT) {
      events.push({ ...known, id: `e${events.length}` })
    } else events.push(newEvent(random, events.length))
  }
  return events
}

function newEvent(random: Random, at: number): ShopEvent {
  const share = random.share()
  const kind = KINDS.find(({ upTo }) => share < upTo) ?? KINDS[0]
  const topic = random.pick(TOPICS)
  const said = random.share() < POSITIVE ? kind?.positive : 'all is well for now, thank you'
  const text =
    `About the ${topic} of order ${random.int(100_000)}: we wrote on Monday and had an answer ` +
    `within ${1 + random.int(48)} hours; ${said}. Sent by shop ${random.int(40)}.`
  const data = {
    text,
    language: random.pick(['en', 'es']),
    severity: random.pick(['low', 'medium', 'high']),
    stars: 1 + random.int(5),
  }
  return { specversion: '1.0', source: '/shop', id: `e${at}`, type: kind?.type ?? '', data }
}
