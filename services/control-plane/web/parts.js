/** What the console's panels are made of. */
import { el } from '../../kernel/web/dom.js'
import { words } from './words.js'

const DAY = { weekday: 'short', day: 'numeric', month: 'short' }
const TIME = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }

/** Day and time in the viewer's zone, and in the subscription's where that reads differently. */
export function zonedTimeOf(iso, zone) {
  const at = new Date(iso)
  const shown = (form, timeZone) =>
    new Intl.DateTimeFormat(undefined, { ...form, timeZone }).format(at)
  const isSameDay = shown(DAY, zone) === shown(DAY, undefined)
  const here = shown({ ...DAY, ...TIME }, undefined)
  const there = shown(isSameDay ? TIME : { ...DAY, ...TIME }, zone)
  const more = here.endsWith(there) ? '' : ` (${words.here}), ${there} (${zone})`
  return el('time', { datetime: iso, title: at.toLocaleString() }, `${here}${more}`)
}

export function codeOf(value) {
  return el('pre', {}, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}

export function problemOf(error) {
  return el('p', { class: 'stop', role: 'alert' }, error.message)
}

export const quietOf = (...children) => el('p', { class: 'quiet' }, ...children)

/** Terms and what they are; pairs without a description are left out. */
export function factList(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return el(
    'dl',
    {},
    ...shown.flatMap(([term, value]) => [
      el('dt', {}, term),
      el('dd', {}, ...(Array.isArray(value) ? value : [value])),
    ]),
  )
}

/** Something that is read when it is opened for the first time; a failure is shown in its place. */
export function disclosure(title, load) {
  const place = el('div')
  const open = async () => {
    if (!box.open || place.childElementCount > 0) return
    place.replaceChildren(quietOf(words.reading))
    try {
      place.replaceChildren(...(await load()))
    } catch (error) {
      place.replaceChildren(problemOf(error))
    }
  }
  const box = el('details', { toggle: open }, el('summary', {}, title), place)
  return box
}
