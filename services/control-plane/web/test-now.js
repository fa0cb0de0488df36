/** "Test now": an event tried on a saved subscription; nobody is woken. */
import { ask, call, post } from '../../kernel/web/call.js'
import { el } from '../../kernel/web/dom.js'
import { subscriptionPath } from './api.js'
import { codeOf, factList, problemOf, quietOf } from './parts.js'
import { fateOf } from './trace.js'
import { costOf, verdictOf } from './verdict.js'
import { inWords, words } from './words.js'

const ASK_AGAIN_MS = 2000
const ASKED_MAX = 30

/** Set by the server for each event, or the mark of one that was there already. */
const OWN = new Set([
  ...['tenant', 'onbehalfof', 'lineage', 'recordedtime', 'partitionkey'],
  ...['schedulerevision', 'schedulesince', 'dedupkey', 'time'],
])

/** The form; its sample is read when it is opened. */
export function testNow(subscription) {
  const { id, observe } = subscription
  const hints = `test-hint-${id}`
  const box = el('textarea', { id: `test-${id}`, rows: '9', spellcheck: 'false' })
  box.setAttribute('aria-describedby', hints)
  box.required = !observe
  const result = el('div', { 'aria-live': 'polite' })
  const button = el('button', { type: 'submit' }, words.tryIt)
  const submit = async event => {
    event.preventDefault()
    button.disabled = true
    result.replaceChildren(quietOf(words.trying))
    result.replaceChildren(...(await tryOn(id, box.value.trim())))
    button.disabled = false
  }
  const fill = async () => {
    if (!details.open || box.value !== '') return
    const sample = await sampleOf(subscription).catch(() => undefined)
    if (sample && box.value === '') box.value = JSON.stringify(sample, null, 2)
  }
  const hint = observe ? `${words.testHint} ${words.testObserve}` : words.testHint
  const label = el('label', { for: box.id }, words.sample)
  const form = el('form', { class: 'test', submit }, label, box, button)
  const details = el(
    'details',
    { toggle: fill },
    el('summary', {}, words.testNow),
    el('p', { class: 'quiet', id: hints }, hint),
    form,
    result,
  )
  return details
}

async function tryOn(id, text) {
  let events
  try {
    events = text === '' ? undefined : [JSON.parse(text)].flat()
  } catch (error) {
    return [problemOf(new Error(words.notJson + error.message))]
  }
  try {
    return resultOf(await answerOf(id, events))
  } catch (error) {
    return [problemOf(error)]
  }
}

/** A test that takes long answers with a link to where its result will be. */
async function answerOf(id, events) {
  let response = await post(subscriptionPath(id, '/test'), events ? { events } : {})
  let answer = await response.json()
  const { status } = answer
  for (let asked = 0; response.status === 202; asked += 1) {
    if (asked === ASKED_MAX) throw new Error(words.stillRunning)
    await new Promise(resolve => setTimeout(resolve, ASK_AGAIN_MS))
    response = await call(status)
    answer = await response.json()
  }
  return answer
}

function resultOf({ items, usage }) {
  const events = items.map(({ event }) => event)
  const shown = items.map(item => itemOf(item, events))
  return [
    el('p', { class: 'woken' }, el('b', {}, words.nobodyWoken)),
    ...(shown.length > 0 ? shown : [quietOf(words.nothingTried)]),
    ...(items.length > 1 ? [factList([[words.costOfAll, costOf(usage)]])] : []),
  ]
}

function itemOf({ event, verdict, fate, stage, reason, details }, events) {
  const isSet = verdict?.evidence?.some(({ pointer }) => /^\/\d+\//.test(pointer))
  const fell = fate === null ? el('b', { class: 'fate calm' }, words.noMatch) : fateOf(fate)
  const why = [stage && inWords('stages', stage), reason && inWords('reasons', reason)]
  const hasDetails = details && Object.keys(details).length > 0
  return el(
    'div',
    { class: 'tried' },
    factList([
      [words.eventId, event.id],
      [words.wouldBe, fell],
      [words.reason, why.filter(Boolean).join(': ')],
    ]),
    verdict ? verdictOf(verdict, isSet ? events : [event]) : null,
    hasDetails ? el('details', {}, el('summary', {}, words.facts), codeOf(details)) : null,
  )
}

/** The last event that it met, as a new one; else one that names what it listens to. */
async function sampleOf(subscription) {
  const { id, on, observe } = subscription
  const { items } = await ask('/v1/decisions', { subscription: id, limit: '1' })
  const name = items[0]?.event
  const found = name && (await ask('/v1/traces', { source: name.source, id: name.id })).event
  const sampleId = `test-${crypto.randomUUID().slice(0, 8)}`
  if (found?.type) {
    const kept = Object.entries(found).filter(([attribute]) => !OWN.has(attribute))
    return { ...Object.fromEntries(kept), id: sampleId }
  }
  if (observe) return undefined
  if (!on) return { ...dueSample(subscription), id: sampleId }
  const plain = (names, other) => (names?.[0] ?? other).replaceAll('*', 'sample')
  return {
    specversion: '1.0',
    id: sampleId,
    source: plain(on.sources, '/sample'),
    type: plain(on.types, 'com.example.sample'),
    data: {},
  }
}

/** As the clock or the calendar would tell it. */
function dueSample({ id, schedule, next }) {
  const { once, anchor } = schedule
  const type = once ? 'time.once' : anchor ? 'calendar.anchor' : 'time.recurrence'
  const scheduledTime = next[0] ?? new Date().toISOString()
  return {
    specversion: '1.0',
    source: `/schedules/${encodeURIComponent(id)}`,
    type,
    subject: id,
    data: { scheduledTime, late: false, lateMs: 0, missedCount: 0 },
  }
}
