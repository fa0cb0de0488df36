/** What a subscription promises, in plain words. */
import { el } from '../../kernel/web/dom.js'
import { language } from '../../kernel/web/language.js'
import { session } from './api.js'
import { factList, zonedTimeOf } from './parts.js'
import { inWords, words } from './words.js'

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

/** In the largest unit that gives a whole number, else in seconds. */
export function durationOf(ms) {
  const [unit, size] = UNITS.find(([, each]) => ms >= each && ms % each === 0) ?? UNITS.at(-1)
  const options = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 1 }
  return new Intl.NumberFormat(language, options).format(ms / size)
}

const joined = (texts, word) => texts.join(` ${word} `)

/** Zone in which the subscription's clock runs, where it has one. */
export const zoneOf = ({ schedule }) => schedule?.tzid

export function contractOf(subscription) {
  const { instruction, limits } = subscription
  return factList([
    [words.trigger, triggerOf(subscription)],
    [words.condition, conditionOf(subscription)],
    [words.instruction, instruction],
    [words.limits, limitsOf(limits, zoneOf(subscription))],
  ])
}

function triggerOf({ on, schedule, observe, described }) {
  if (schedule) return scheduleOf(schedule, described)
  if (observe) return words.observes({ ...observe, every: durationOf(observe.everyMs) })
  const { types, sources } = on ?? {}
  if (!types && !sources) return words.anyEvent
  return words.eventsOf(...[types, sources].map(names => names && joined(names, words.or)))
}

function scheduleOf(schedule, described) {
  const { once, anchor, missed, jitterMs } = schedule
  const when = anchor ? anchorOf(anchor) : described[language]
  const more = [
    once ? null : words.missedRules[missed],
    jitterMs ? words.jitter(durationOf(jitterMs)) : null,
  ]
  return [when, ...more].filter(Boolean).join('; ')
}

function anchorOf({ calendar, uid, query, edge, offsetMs }) {
  const asked = Object.entries(query ?? {}).map(
    ([name, value]) => `${words.meetingsBy[name]} ${value}`,
  )
  return words.anchored({
    offset: offsetMs === 0 ? '' : durationOf(Math.abs(offsetMs)),
    isBefore: offsetMs < 0,
    edge: words.edges[edge],
    what: uid ? words.thisMeeting(uid) : words.meetingsWith(joined(asked, words.and)),
    calendar,
  })
}

function conditionOf({ filters, condition }) {
  const texts = filters.map(filterOf)
  if (condition) {
    const { criterion, minConfidence: confidence, scope, askConfidence } = condition
    texts.push(words.criterion({ criterion, confidence, scope }))
    if (askConfidence !== undefined) texts.push(words.askBelow(askConfidence))
  }
  if (texts.length === 0) return words.always
  return el('ul', {}, ...texts.map(text => el('li', {}, text)))
}

const PLAIN = { exact: 'is', prefix: 'begins', suffix: 'ends' }

/** One filter; those within another stand in brackets. */
function filterOf(filter) {
  const [dialect, value] = Object.entries(filter)[0]
  if (dialect === 'cel') return words.holds(value)
  if (dialect === 'not') return words.not(filterOf(value))
  if (dialect === 'all' || dialect === 'any') {
    const word = dialect === 'all' ? words.and : words.or
    return `(${joined(value.map(filterOf), word)})`
  }
  const say = words[PLAIN[dialect]]
  if (!say) return JSON.stringify(filter)
  return joined(
    Object.entries(value).map(([name, wanted]) => say(name, wanted)),
    words.and,
  )
}

function limitsOf(limits, zone) {
  const shown = [...boundsOf(limits), ...budgetsOf(limits.budget ?? {})].filter(Boolean)
  const items = shown.map(text => [text])
  for (const name of ['notBefore', 'expiresAt']) {
    if (limits[name]) items.push([words.limit[name], ' ', zonedTimeOf(limits[name], zone)])
  }
  if (items.length === 0) return words.noLimits
  return el('ul', {}, ...items.map(parts => el('li', {}, ...parts)))
}

function boundsOf({ cooldownMs, cooldownRule, group, concurrency, rate, storm, ...rest }) {
  const { limit } = words
  const { maxOccurrences, maxEventAgeMs } = rest
  return [
    cooldownMs ? limit.cooldown(durationOf(cooldownMs), cooldownRule) : null,
    group ? limit.group(groupOf(group)) : null,
    maxOccurrences ? limit.maxOccurrences(maxOccurrences) : null,
    maxEventAgeMs ? limit.maxAge(durationOf(maxEventAgeMs)) : null,
    concurrency?.max
      ? limit.concurrency(concurrency.max, inWords('overlaps', concurrency.overlap))
      : null,
    rate ? limit.rate(rate.perMinute) : null,
    storm ? limit.storm(storm.max, durationOf(storm.windowMs)) : null,
  ]
}

const groupOf = ({ by, intervalMs, max }) => ({
  by: joined(by, words.and),
  interval: durationOf(intervalMs),
  max,
})

function budgetsOf(budget) {
  return Object.entries(budget)
    .filter(([, amount]) => amount !== null)
    .map(([name, amount]) => {
      const shown = name.startsWith('money') ? `${amount} ${session.currency}`.trim() : amount
      return words.limit.budgets[name]?.(shown)
    })
}
