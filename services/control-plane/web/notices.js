/** Notices, newest first; those that say the same are one, marked as seen together. */
import { ask, post } from '../../kernel/web/call.js'
import { $, el, timeOf } from '../../kernel/web/dom.js'
import { inWords, words } from './words.js'

const READ_MAX = 200
const SHOWN_MAX = 10

/** The newest few, until somebody asks for more. */
let isWhole = false

export async function loadNotices() {
  const { items } = await ask('/v1/notices', { limit: `${READ_MAX}` })
  const alike = [...Map.groupBy(items, saidBy).values()]
  const shown = isWhole ? alike : alike.slice(0, SHOWN_MAX)
  $('notices').replaceChildren(...shown.map(noticeOf))
  $('notices-empty').hidden = items.length > 0
  $('more-notices').hidden = shown.length === alike.length
}

export function moreNotices() {
  isWhole = true
  return loadNotices()
}

const saidBy = ({ kind, severity, subscription, agent, text }) =>
  JSON.stringify([kind, severity, subscription, agent, text])

/** `alike` are newest first. */
function noticeOf(alike) {
  const [{ kind, severity, text, at }] = alike
  const unseen = alike.filter(({ ackAt }) => !ackAt)
  const acknowledge = async () => {
    try {
      for (const { id } of unseen) await post(`/v1/notices/${encodeURIComponent(id)}/ack`)
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
    alike.length > 1 ? words.cameTimes(alike.length) : '',
    ' ',
    unseen.length === 0
      ? el('span', { class: 'quiet' }, words.seen)
      : el('button', { type: 'button', click: acknowledge }, words.markSeen),
    status,
  )
}
