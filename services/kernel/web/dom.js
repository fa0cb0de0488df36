/** Elements made from texts: nothing that comes from outside is ever read as markup. */

export const $ = id => document.getElementById(id)

/** Makes an element; children are elements or texts. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') made.className = value
    else if (typeof value === 'function') made.addEventListener(name, value)
    else made.setAttribute(name, value)
  }
  made.append(...children.filter(child => child !== null && child !== undefined))
  return made
}

/** In the viewer's zone; without the date when it is today's. */
export function timeOf(iso) {
  const at = new Date(iso)
  const isToday = at.toDateString() === new Date().toDateString()
  const shown = isToday ? at.toLocaleTimeString() : at.toLocaleString()
  return el('time', { datetime: iso, title: at.toLocaleString() }, shown)
}
