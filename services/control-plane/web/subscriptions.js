/** The subscriptions: each opens to its contract, its coming activations, a pause and a test. */
import { ask, post } from '../../kernel/web/call.js'
import { $, el, timeOf } from '../../kernel/web/dom.js'
import { askAll, session, subscriptionPath } from './api.js'
import { contractOf, zoneOf } from './contract.js'
import { factList, problemOf, quietOf, zonedTimeOf } from './parts.js'
import { testNow } from './test-now.js'
import { fateOf } from './trace.js'
import { words } from './words.js'

const ITEMS_MAX = 1000

/** Rows by id: they stay while the list is read again, and so does what was typed in them. */
const rows = new Map()

export async function loadSubscriptions() {
  const { items } = await askAll('/v1/subscriptions', {}, ITEMS_MAX)
  for (const item of items) {
    session.names.set(item.id, item.name)
    session.zones.set(item.id, zoneOf(item))
  }
  const shown = new Set(items.map(({ id }) => id))
  for (const id of rows.keys()) if (!shown.has(id)) rows.delete(id)
  const elements = items.map(item => {
    const row = rows.get(item.id) ?? createRow(item.id)
    rows.set(item.id, row)
    row.update(item)
    return row.element
  })
  const list = $('subscriptions')
  const isSame =
    elements.length === list.childElementCount &&
    elements.every((element, at) => list.children[at] === element)
  if (!isSame) list.replaceChildren(...elements)
  $('subscriptions-empty').hidden = items.length > 0
}

export function forgetSubscriptions() {
  rows.clear()
  session.names.clear()
  session.zones.clear()
}

function createRow(id) {
  const parts = { head: el('summary'), facts: el('div'), controls: el('div'), test: el('div') }
  const held = { mark: '', stand: '' }
  const open = () =>
    details.open && show().catch(error => parts.facts.replaceChildren(problemOf(error)))
  const show = async () => fill(parts, held, await ask(subscriptionPath(id)), update)
  const details = el('details', { toggle: open }, ...Object.values(parts))
  const update = item => {
    parts.head.replaceChildren(...headOf(item))
    if (details.open && held.mark !== '' && held.mark !== markOf(item)) void open()
  }
  return { element: el('li', {}, details), update }
}

const markOf = ({ version, last, next }) => [version, last?.at, next[0]].join('/')
const standOf = ({ state }) => `${state.approval}/${state.operation}`

/** The controls and the test are built anew only when they would differ. */
function fill({ facts, controls, test }, held, item, update) {
  held.mark = markOf(item)
  facts.replaceChildren(stateOf(item), contractOf(item), ...nextOf(item))
  if (held.stand !== standOf(item)) {
    held.stand = standOf(item)
    const changed = stored => {
      update(stored)
      fill({ facts, controls, test }, held, stored, update)
    }
    controls.replaceChildren(...controlsOf(item, changed))
  }
  if (test.childElementCount === 0) test.replaceChildren(testNow(item))
}

const isLive = ({ operation, approval }) =>
  operation === 'active' && ['approved', 'not-required'].includes(approval)

function shownState({ operation, approval }) {
  const name = approval === 'pending' || approval === 'rejected' ? approval : operation
  return words.states[name] ?? name
}

function headOf({ name, agent, owner, state, last, next: [next] }) {
  return [
    el('b', {}, name),
    words.wakes(agent, owner),
    el('span', { class: `fate ${isLive(state) ? 'good' : 'wait'}` }, shownState(state)),
    isLive(state) || !state.reason ? '' : ` (${state.reason})`,
    el(
      'span',
      { class: 'quiet line' },
      ...(last ? [`${words.last}: `, fateOf(last.fate), ' ', timeOf(last.at)] : [words.neverMet]),
      ...(next ? [` · ${words.next}: `, timeOf(next)] : []),
    ),
  ]
}

function stateOf({ state }) {
  const { reason, by, at, until } = state
  return factList([
    [
      words.state,
      [
        `${shownState(state)}${words.stateBy(by)}`,
        timeOf(at),
        reason ? ` (${reason})` : '',
        ...(until ? [`, ${words.until} `, timeOf(until)] : []),
      ],
    ],
  ])
}

/** The viewer's zone first, then the subscription's. */
function nextOf(item) {
  if (!item.schedule) return []
  const times = item.next.map(at => el('li', {}, zonedTimeOf(at, zoneOf(item))))
  const shown = times.length > 0 ? el('ol', { class: 'next' }, ...times) : quietOf(words.noneComing)
  return [el('h3', {}, words.nextActivations), shown]
}

/** Pausing needs a reason; resuming takes one. */
function controlsOf({ id, state }, changed) {
  const action = state.operation === 'active' ? 'pause' : 'resume'
  if (!['active', 'paused', 'suspended'].includes(state.operation)) return []
  const isPause = action === 'pause'
  const input = el('input', { id: `reason-${id}`, maxlength: '1000', autocomplete: 'off' })
  input.required = isPause
  const status = el('p', { role: 'status', class: 'stop' })
  const submit = async event => {
    event.preventDefault()
    const reason = input.value.trim()
    try {
      const answer = await post(subscriptionPath(id, `/${action}`), reason ? { reason } : {})
      changed(answer.status === 200 ? await answer.json() : await ask(subscriptionPath(id)))
    } catch (error) {
      status.textContent = error.message
    }
  }
  return [
    el(
      'form',
      { submit },
      el('label', { for: input.id }, words.reason),
      input,
      el('button', { type: 'submit' }, words[action]),
    ),
    status,
  ]
}
