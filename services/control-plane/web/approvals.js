/** What waits for a person: subscriptions to approve, matches to take or leave, questions of runs. */
import { post } from '../../kernel/web/call.js'
import { $, el, timeOf } from '../../kernel/web/dom.js'
import { askAll, subscriptionPath } from './api.js'
import { disclosure, quietOf } from './parts.js'
import { showWay } from './trace.js'
import { verdictOf } from './verdict.js'
import { words } from './words.js'

const ITEMS_MAX = 200

const ROWS = { subscription: proposalOf, ask: askOf, question: questionOf }

/** Rows by id: what was typed in them stays while the list is read again. */
const rows = new Map()

/** `afterwards` is called when something was decided. */
export async function loadApprovals(afterwards) {
  const { items } = await askAll('/v1/approvals', {}, ITEMS_MAX)
  const shown = new Set(items.map(({ id }) => id))
  const list = $('approvals')
  for (const [id, row] of rows) {
    if (shown.has(id)) continue
    row.remove()
    rows.delete(id)
  }
  for (const item of items) {
    if (rows.has(item.id)) continue
    const row = (ROWS[item.kind] ?? questionOf)(item, afterwards)
    rows.set(item.id, row)
    list.append(row)
  }
  $('approvals-empty').hidden = items.length > 0
}

export function forgetApprovals() {
  rows.clear()
  $('approvals').replaceChildren()
}

function proposalOf({ id, name, agent, owner, origin, askedAt }, afterwards) {
  const decide = action => reason =>
    post(subscriptionPath(id, `/${action}`), reason ? { reason } : {}).then(afterwards)
  return el(
    'li',
    {},
    words.wantsToWake(name, agent, owner),
    quietOf(words.askedBy(origin), ' ', timeOf(askedAt)),
    decisionForm(`approve-${id}`, words.reason, [
      { title: words.approve, decide: decide('approve') },
      { title: words.reject, decide: decide('reject'), needsText: true },
    ]),
  )
}

/** A match that the judge is not sure of: its words, and what they are said to mean. */
function askOf({ id, name, agent, subscription, event, askedAt, ...item }, afterwards) {
  const { question, confidence, model, evidence, judgeReason } = item
  const verdict = { outcome: 'ask', confidence, model, evidence, reason: judgeReason.text }
  const way = disclosure(words.theEvent, async () => {
    const place = el('div')
    await showWay(place, event)
    return [place]
  })
  const decide = decision => text => answer(id, { decision, ...reasonOf(text) }).then(afterwards)
  return el(
    'li',
    {},
    el('b', {}, words.unsureOf(name ?? subscription, agent ?? '')),
    ' ',
    timeOf(askedAt),
    quietOf(question === null ? words.criterionEdited : words.doesItMeet(question)),
    verdictOf(verdict, [event]),
    way,
    decisionForm(`ask-${id}`, words.reason, [
      { title: words.wakeFor, decide: decide('accept') },
      { title: words.leaveIt, decide: decide('ignore') },
    ]),
  )
}

const reasonOf = text => (text ? { reason: text } : {})
const answer = (id, body) => post(`/v1/approvals/${encodeURIComponent(id)}`, body)

function questionOf({ id, agent, question, options, effect, askedAt }, afterwards) {
  const decide = decision => text => {
    const more = decision === 'respond' ? { text } : reasonOf(text)
    return answer(id, { decision, ...more }).then(afterwards)
  }
  return el(
    'li',
    {},
    el('b', {}, words.asks(agent)),
    ' ',
    timeOf(askedAt),
    el('blockquote', {}, question),
    options?.length ? quietOf(words.choices(options.join(' · '))) : null,
    effect ? quietOf(words.wouldDo(effect.tool, effect.target)) : null,
    decisionForm(`answer-${id}`, words.answer, [
      { title: words.accept, decide: decide('accept') },
      { title: words.respond, decide: decide('respond'), needsText: true },
      { title: words.ignore, decide: decide('ignore') },
    ]),
  )
}

/** A line to write in and a button for each decision; some of them need what is written. */
function decisionForm(id, label, decisions) {
  const input = el('input', { id, maxlength: '1000', autocomplete: 'off' })
  const status = el('p', { role: 'status', class: 'stop' })
  const buttons = decisions.map(({ title, decide, needsText }) => {
    const click = async () => {
      input.required = needsText === true
      if (!input.reportValidity()) return
      for (const each of buttons) each.disabled = true
      status.textContent = ''
      await decide(input.value.trim()).catch(error => {
        status.textContent = error.message
      })
      for (const each of buttons) each.disabled = false
    }
    return el('button', { type: 'button', click }, title)
  })
  const submit = event => event.preventDefault()
  return el('form', { submit }, el('label', { for: id }, label), input, ...buttons, status)
}
