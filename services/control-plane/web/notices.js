/** Notices, each marked as seen by whoever looked. */
import { ask, post } from './api.js'
import { $, el, timeOf } from './dom.js'
import { words } from './words.js'

export async function loadNotices() {
  const { items } = await ask('/v1/notices', { limit: '50' })
  $('notices').replaceChildren(...items.map(noticeOf))
  $('notices-empty').hidden = items.length > 0
}

function noticeOf({ id, severity, text, at, ackAt }) {
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
    ` ${text} `,
    timeOf(at),
    ' ',
    ackAt
      ? el('span', { class: 'quiet' }, words.seen)
      : el('button', { type: 'button', click: acknowledge }, words.markSeen),
    status,
  )
}
