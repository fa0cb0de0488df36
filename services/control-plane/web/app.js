/**
 * The console. Everything that comes from outside is put on the page as text, never as markup.
 * The key lives in this tab's sessionStorage and travels in the Authorization header only.
 */
import { access, ask } from '../../kernel/web/call.js'
import { $ } from '../../kernel/web/dom.js'
import { followStream } from '../../kernel/web/follow-stream.js'
import { addressed, forgetKey, keepKey, knownKey } from '../../kernel/web/kept-key.js'
import { translate } from '../../kernel/web/language.js'
import { loadCurrency } from './api.js'
import { forgetApprovals, loadApprovals } from './approvals.js'
import { loadNotices, moreNotices } from './notices.js'
import { loadSchedule } from './schedule.js'
import { forgetSubscriptions, loadSubscriptions } from './subscriptions.js'
import { loadSystem } from './system.js'
import { lineOf, showWay } from './trace.js'
import { words } from './words.js'

const LINES_MAX = 200
/** What the clock brings changes without an event. */
const CLOCK_MS = 60_000

const state = { older: null, stop: null }

/** One line per candidate: a later fate takes the place of the earlier one. */
function addLine(item, { isNew }) {
  const live = $('live')
  const old = [...live.children].find(line => line.dataset.candidate === item.candidateId)
  const line = lineOf(item, isNew)
  if (old?.querySelector('details').open) line.querySelector('details').open = true
  if (old) old.replaceWith(line)
  else if (isNew) live.prepend(line)
  else live.append(line)
  if (isNew) while (live.childElementCount > LINES_MAX) live.lastElementChild.remove()
  $('live-empty').hidden = true
}

async function loadDecisions(cursor) {
  const page = await ask('/v1/decisions', { limit: '50', ...(cursor ? { cursor } : {}) })
  for (const item of page.items) addLine(item, { isNew: false })
  state.older = page.next
  $('more').hidden = page.next === null
}

/** What stands beside the events. */
async function loadPanels() {
  await loadSubscriptions()
  await loadApprovals(loadPanels)
}

async function loadEverything() {
  await Promise.all([loadCurrency(), loadPanels(), loadNotices()])
  await Promise.all([loadSchedule(), loadSystem()])
  $('live').replaceChildren()
  await loadDecisions()
}

// --- The live stream

/** The lists are read once the stream is open, so that nothing falls between the two. */
async function onOpen() {
  await loadEverything()
  $('connection').textContent = words.connected
}

function onEvent(name, item) {
  if (name === 'decision') {
    addLine(item, { isNew: true })
    announce(`${item.event.type} ${words.fates[item.fate] ?? item.fate}`)
  }
  if (name === 'notice') noticesSoon()
  refreshSoon()
  scheduleSoon()
}

function onAway() {
  $('connection').textContent = words.away
}

/** Runs the work once, a while after the first of many calls. */
function soon(ms, work) {
  let isDue = false
  return argument => {
    if (isDue) return
    isDue = true
    setTimeout(() => {
      isDue = false
      work(argument)
    }, ms)
  }
}

/** Panels change with what happens; once in two seconds is often enough. */
const refreshSoon = soon(2000, () => {
  if (access.key !== '') loadPanels().catch(showError)
})

/** Many may come at once. */
const noticesSoon = soon(500, () => {
  if (access.key !== '') loadNotices().catch(showError)
})

/** What comes changes seldom, and is much to read. */
const scheduleSoon = soon(10_000, () => {
  if (access.key !== '') loadSchedule().catch(showError)
})

/** Costs the server a look at every schedule. */
const systemSoon = soon(1000, () => {
  if (access.key !== '') loadSystem().catch(showError)
})

/** A screen reader hears one line in three seconds and not every one. */
const announce = soon(3000, text => {
  $('announce').textContent = text
})

// --- Key

function showError(error) {
  $('connection').textContent = error.message
}

function signIn(key) {
  access.key = key
  keepKey(key)
  $('sign-in').hidden = true
  for (const id of ['console', 'leave', 'sections']) $(id).hidden = false
  $('connection').textContent = words.connecting
  state.stop = new AbortController()
  const { signal } = state.stop
  void followStream({ path: '/v1/stream', signal, onOpen, onEvent, onAway, onRefused: signOut })
}

function signOut(message = '') {
  state.stop?.abort()
  forgetKey()
  access.key = ''
  for (const id of ['live', 'subscriptions', 'notices', 'asked', 'coming', 'missed', 'system']) {
    $(id).replaceChildren()
  }
  forgetSubscriptions()
  forgetApprovals()
  for (const id of ['console', 'leave', 'sections']) $(id).hidden = true
  $('sign-in').hidden = false
  $('sign-in-error').textContent = message
  $('connection').textContent = words.notConnected
  $('key').focus()
}

function start() {
  translate(words)
  $('sign-in').addEventListener('submit', event => {
    event.preventDefault()
    signIn($('key').value.trim())
    $('key').value = ''
  })
  $('ask').addEventListener('submit', event => {
    event.preventDefault()
    void showWay($('asked'), { source: $('ask-source').value, id: $('ask-id').value })
  })
  $('more').addEventListener('click', () => loadDecisions(state.older).catch(showError))
  $('more-notices').addEventListener('click', () => moreNotices().catch(showError))
  $('leave').addEventListener('click', () => signOut())
  setInterval(refreshSoon, CLOCK_MS)
  setInterval(scheduleSoon, CLOCK_MS)
  setInterval(systemSoon, CLOCK_MS)
  const event = eventInAddress()
  const key = knownKey()
  if (key) signIn(key)
  else signOut()
  if (!key || !event) return
  $('ask-source').value = event.source
  $('ask-id').value = event.id
  void showWay($('asked'), event)
}

/** A link may name an event whose way is shown at once. */
function eventInAddress() {
  const { source, id } = addressed()
  return source && id ? { source, id } : null
}

start()
