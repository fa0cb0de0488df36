/** Planes, steps and services: how each is, and how far behind. */
import { ask } from '../../kernel/web/call.js'
import { $, el } from '../../kernel/web/dom.js'
import { words } from './words.js'

export async function loadSystem() {
  const { planes, steps, services } = await ask('/v1/system')
  const { control, execution } = planes
  const behind = steps.filter(({ lag }) => lag > 0)
  $('system').replaceChildren(
    partOf(words.controlPlane, control.alive ? 'ok' : 'silent', ''),
    partOf(words.executionPlane, execution.state === 'running' ? 'ok' : execution.state, ''),
    ...services.map(serviceOf),
    ...behind.map(({ step, lag }) => partOf(step, 'behind', words.recordsBehind(lag))),
  )
}

function serviceOf({ service, state, ...facts }) {
  const told = Object.entries(facts).filter(([, value]) => value !== null && value !== 0)
  const texts = told.map(([name, value]) => `${words.serviceFacts[name] ?? name}: ${value}`)
  return partOf(service, state, texts.join(' · '))
}

function partOf(name, state, found) {
  const tone = state === 'ok' ? 'quiet' : state === 'silent' ? 'stop' : 'wait'
  const shown = words.serviceStates[state] ?? state
  return el(
    'li',
    {},
    el('b', {}, name),
    ' ',
    el('span', { class: `fate ${tone}` }, shown),
    ` ${found}`,
  )
}
