/** Notices, each marked as seen by whoever looked. */
import { ask, post } from '../../kernel/web/call.js'
import { $, el, timeOf } from '../../kernel/web/dom.js'
import { inWords, words } from './words.js'

const LIMIT_MAX = 200
/** How many are shown: the newest few until somebody asks for more. */
let limit = 10

export async function loadNotices() {
  const { items, next } = await ask('/v1/notices', { limit: `${limit}` })
  $('notices').replaceChildren(...items.map(noticeOf))
  $('notices-empty').hidden = items.length > 0
  $('more-notices').hidden = next === null || limit === LIMIT_MAX
}

export function moreNotices() {
  limit = LIMIT_MAX
  return loadNotices()
}

function noticeOf({ id, kind, severity, text, at, ackAt }) {
  const acknowledge = async () => {
    try {
      await post(`/v1/notices/${encodeURIComponent(id)}/ack`)
      await loadNotices()
    } catch (error) {
      status.textContent = ` ${error.message}`
    }
  }
  const tone = severity === 'info' ? 'quiet' : severity === 'warning' ? 'wait' : 'stop'
  const status = el('span', { role: 'status', class: 'stop' })
  return el(
    'li',
    {},
    el('span', { class: `fate ${tone}` }, words.severities[severity] ?? severity),
    ' ',
    el('b', {}, inWords('notices', kind)),
    `: ${text} `,
    timeOf(at),
    ' ',
    ackAt
      ? el('span', { class: 'quiet' }, words.seen)
      : el('button', { type: 'button', click: acknowledge }, words.markSeen),
    status,
  )
}
