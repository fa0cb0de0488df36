/** What the clock and calendars will wake, and what they missed. */
import { $, el, timeOf } from '../../kernel/web/dom.js'
import { askAll, session } from './api.js'
import { quietOf, zonedTimeOf } from './parts.js'
import { inWords, words } from './words.js'

/** Instants read for one answer, and shown of one subscription. */
const ROWS_MAX = 600
const EACH_SHOWN = 3
/** The server tells no more of one subscription at once. */
const EACH_MAX = 200

export async function loadSchedule() {
  const { items, isCut } = await askAll('/v1/schedule', {}, ROWS_MAX)
  const coming = items.filter(({ state }) => state === 'coming')
  const missed = items.filter(({ state }) => state === 'missed')
  const each = Map.groupBy(coming, ({ subscription }) => subscription)
  $('coming').replaceChildren(...[...each.values()].map(rows => comingOf(rows, isCut)))
  $('missed').replaceChildren(...missed.toReversed().map(missedOf))
  $('coming-empty').hidden = coming.length > 0
  $('missed-empty').hidden = missed.length > 0
}

/** Subscriptions in the order of their next instant, each with its first few. */
function comingOf(rows, isCut) {
  const { subscription, name, agent } = rows[0]
  const zone = session.zones.get(subscription)
  const more = rows.length - EACH_SHOWN
  const times = rows.slice(0, EACH_SHOWN).map(({ at }) => el('li', {}, zonedTimeOf(at, zone)))
  return el(
    'li',
    {},
    el('b', {}, name),
    ` → ${agent}`,
    el('ol', { class: 'next' }, ...times),
    more > 0 ? quietOf(words.moreComing(more, isCut || rows.length >= EACH_MAX)) : null,
  )
}

function missedOf({ name, agent, from, at, count, reason }) {
  return el(
    'li',
    {},
    el('b', {}, name),
    ` → ${agent} · `,
    el('span', { class: 'fate wait' }, words.missedCount(count)),
    ` (${inWords('missed', reason)}) `,
    timeOf(from),
    ...(from === at ? [] : [' – ', timeOf(at)]),
  )
}
