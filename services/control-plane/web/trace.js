/** One event: what became of it, its way from source to run, and why it did not fire. */
import { ask } from '../../kernel/web/call.js'
import { el, timeOf } from '../../kernel/web/dom.js'
import { askAll, nameOf, session, subscriptionPath } from './api.js'
import { durationOf } from './contract.js'
import { codeOf, disclosure, factList, problemOf, quietOf, zonedTimeOf } from './parts.js'
import { labelButtons, verdictOf } from './verdict.js'
import { inWords, words } from './words.js'

/** What was held back as its owner wished is no fault; red is for what somebody has to mend. */
const TONES = {
  delivered: 'good',
  grouped: 'wait',
  held: 'wait',
  'over-budget': 'wait',
  storm: 'wait',
  'evaluation-failed': 'stop',
  'not-entitled': 'stop',
}

export const fateOf = fate =>
  el('span', { class: `fate ${TONES[fate] ?? 'calm'}` }, words.fates[fate] ?? fate)

/** Stage and reason in words; the codes, by which the API is asked, on pointing at them. */
function whyOf({ fate, stage, reason }) {
  const said = `${inWords('stages', stage)}: ${inWords('reasons', reason)}`
  return el('span', { title: `${fate} (${stage}): ${reason}` }, said)
}

/** A decision as one line that opens to the event's way. */
export function lineOf(item, isNew) {
  const { event, fate, repeats } = item
  const way = el('div')
  const open = () => details.open && way.childElementCount === 0 && showWay(way, event, item)
  const details = el(
    'details',
    { toggle: open },
    el(
      'summary',
      {},
      timeOf(item.at),
      ' ',
      el('b', {}, event.type),
      ' ',
      fateOf(fate),
      ` · ${nameOf(item.subscription)}`,
      repeats > 0 ? words.cameTimes(repeats + 1) : '',
    ),
    quietOf(`${event.source} ${event.id} · `, whyOf(item)),
    way,
  )
  const line = el('li', { class: isNew ? 'new' : '' }, details)
  line.dataset.candidate = item.candidateId
  return line
}

/** Without `item` every subscription can be asked why it did, or did not, fire. */
export async function showWay(place, { source, id }, item) {
  place.replaceChildren(quietOf(words.reading))
  try {
    const { event, hops } = await ask('/v1/traces', { source, id })
    const labels = await labelsOf(hops)
    const shown = hops.map(hop => hopOf(hop, event, labels))
    const body = el('details', {}, el('summary', {}, words.theEvent), codeOf(event))
    const isUnfired = item && item.fate !== 'delivered'
    place.replaceChildren(
      ...scheduledFacts(event),
      el('ol', { class: 'way' }, ...shown),
      body,
      ...(isUnfired ? [whyNot({ source, id }, item.subscription, words.whyNot)] : []),
      ...(item ? [] : [...session.names].map(([each, name]) => whyFor({ source, id }, each, name))),
    )
  } catch (error) {
    place.replaceChildren(problemOf(error))
  }
}

/** What people said of these verdicts before; without it the buttons are merely not pressed. */
async function labelsOf(hops) {
  const judged = hops.filter(({ hop }) => hop === 'verdict').map(each => each.subscription)
  const known = new Map()
  for (const subscription of new Set(judged)) {
    const path = subscriptionPath(subscription, '/labels')
    const { items } = await askAll(path, {}, 1000).catch(() => ({ items: [] }))
    for (const { verdictId, label } of items) known.set(verdictId, label)
  }
  return known
}

function hopOf(hop, event, labels) {
  const name = hop.subscription ? nameOf(hop.subscription) : ''
  const ended = hop.run?.stopReason ?? hop.reason ?? hop.state
  const say = words.hops[hop.hop]
  const sentence = say
    ? say({ ...hop, ...saidOf(hop), name, ended: inWords('ends', ended) })
    : hop.hop
  return el('li', {}, timeOf(hop.at), ' ', sentence, ...factsOf(hop, event, labels))
}

/** The codes of a hop in words. */
function saidOf({ fate, stage, reason, state, decision }) {
  return {
    fate: words.fates[fate] ?? fate,
    stage: inWords('stages', stage),
    reason: inWords('reasons', reason),
    state: inWords('messages', state),
    decision: inWords('answers', decision),
  }
}

function factsOf(hop, event, labels) {
  const { details, verdict } = hop
  if (verdict) {
    const buttons = labelButtons(verdict.id, labels.get(verdict.id))
    return [verdictOf(verdict, [event]), ...(verdict.id ? [buttons] : [])]
  }
  if (hop.hop === 'run') return [runFacts(hop)]
  if (!details || Object.keys(details).length === 0) return []
  return [el('details', {}, el('summary', {}, words.facts), codeOf(details))]
}

function runFacts({ stopReason, error, usage, iterations, calls = [], toolCalls, by }) {
  const { inputTokens: input = 0, outputTokens: output = 0 } = usage ?? {}
  const named = calls.map(({ tool, outcome }) =>
    outcome ? `${tool} (${inWords('calls', outcome)})` : tool,
  )
  return factList([
    [words.stopReason, inWords('ends', stopReason)],
    [words.problem, error ? (error.message ?? JSON.stringify(error)) : null],
    [words.toolCalls, named.length > 0 ? named.join(', ') : `${toolCalls || words.none}`],
    [words.iterations, iterations ? `${iterations}` : null],
    [words.usage, words.usageOf({ input, output })],
    [words.executor, by],
  ])
}

/** When the clock or a calendar made it: what was due, how late it came, what was missed before. */
function scheduledFacts({ data }) {
  if (typeof data?.scheduledTime !== 'string') return []
  const { scheduledTime, late, lateMs, missedCount, meeting } = data
  return [
    factList([
      [words.due, zonedTimeOf(scheduledTime)],
      late ? [words.late, words.lateBy(durationOf(lateMs))] : [words.punctual, words.onTime],
      [words.missedBefore, `${missedCount ?? 0}`],
      [words.meeting, meeting ? `${meeting.summary ?? meeting.uid}` : null],
    ]),
  ]
}

const STEP_TONES = { passed: 'good', waiting: 'wait' }

/** A step that ended the way as its owner wished is no fault either. */
function toneOf({ outcome, actual }) {
  if (outcome !== 'failed') return STEP_TONES[outcome] ?? 'quiet'
  return actual?.outcome === 'failed' || TONES[actual?.fate] === 'stop' ? 'stop' : 'wait'
}

function whyNot(event, subscription, title) {
  return disclosure(title, async () => {
    const { steps } = await ask('/v1/explain', { ...event, subscription })
    return [el('ol', { class: 'way' }, ...steps.map(stepOf))]
  })
}

const whyFor = (event, subscription, name) => whyNot(event, subscription, words.whyFor(name))

export function stepOf({ step, outcome, expected, actual, reason }) {
  const tone = toneOf({ outcome, actual })
  const head = el('span', { class: `fate ${tone}` }, inWords('stepOutcomes', outcome))
  const more = outcome === 'failed' || outcome === 'waiting'
  return el(
    'li',
    {},
    head,
    ` ${stepName(step)}`,
    reason ? `: ${inWords('reasons', reason)}` : '',
    more ? quietOf(words.expected) : null,
    more ? codeOf(expected) : null,
    more ? quietOf(words.found) : null,
    more ? codeOf(actual) : null,
  )
}

/** A step is one of matching, a filter by its number, or a stage of the guard. */
function stepName(step) {
  const [, filter] = /^filters\/(\d+)$/.exec(step) ?? []
  return filter ? words.filterStep(Number(filter) + 1) : inWords('stages', inWords('steps', step))
}
