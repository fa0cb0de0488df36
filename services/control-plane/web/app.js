/**
 * The console. Everything that comes from outside is put on the page as text, never as markup.
 * The key lives in this tab's sessionStorage and travels in the Authorization header only.
 */
const KEY = 'ambit-key'
const LINES_MAX = 200
const RETRY_MS_MAX = 15_000

const $ = id => document.getElementById(id)
const state = { key: '', names: new Map(), older: null, stop: null }

/** Makes an element; children are elements or texts. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') made.className = value
    else if (typeof value === 'function') made.addEventListener(name, value)
    else made.setAttribute(name, value)
  }
  made.append(...children.filter(child => child !== null && child !== undefined))
  return made
}

function timeOf(iso) {
  const at = new Date(iso)
  const isToday = at.toDateString() === new Date().toDateString()
  const shown = isToday ? at.toLocaleTimeString() : at.toLocaleString()
  return el('time', { datetime: iso, title: at.toLocaleString() }, shown)
}

function codeOf(value) {
  return el('pre', {}, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}

async function call(path, options = {}) {
  const response = await fetch(path, {
    ...options,
    headers: { authorization: `Bearer ${state.key}`, ...options.headers },
    cache: 'no-store',
    credentials: 'omit',
  })
  if (response.ok) return response
  const problem = await response.json().catch(() => ({}))
  const error = new Error(problem.detail ?? `The server answered ${response.status}.`)
  error.status = response.status
  throw error
}

const ask = async (path, query = {}) => (await call(`${path}?${new URLSearchParams(query)}`)).json()

// --- What happens

const TONES = { delivered: 'good', grouped: 'wait', held: 'wait' }

const SENTENCES = {
  delivered: 'woke the agent',
  grouped: 'waits in a group',
  held: 'waits for a verdict',
  duplicate: 'was known already',
  cycle: 'came from the agent itself',
  'not-entitled': 'was not allowed',
  'over-budget': 'was over budget',
  cooldown: 'came too soon after the last one',
  overlap: 'came while a run was going',
  rejected: 'did not meet the condition',
  'evaluation-failed': 'could not be judged',
  inactive: 'found the subscription inactive',
  stale: 'was too old',
  storm: 'was stopped as part of a storm',
}

function lineOf(item, isNew) {
  const { event, fate, reason } = item
  const subscription = state.names.get(item.subscription) ?? item.subscription
  const way = el('div')
  const details = el(
    'details',
    {
      toggle: () => details.open && way.childElementCount === 0 && showWay(way, event, item),
    },
    el(
      'summary',
      {},
      timeOf(item.at),
      ' ',
      el('b', {}, event.type),
      ' ',
      el('span', { class: `fate ${TONES[fate] ?? 'stop'}` }, SENTENCES[fate] ?? fate),
      ` · ${subscription}`,
      item.repeats > 0 ? ` · came ${item.repeats + 1} times` : '',
    ),
    el('p', { class: 'quiet' }, `${event.source} ${event.id} · ${fate} (${item.stage}): ${reason}`),
    way,
  )
  const line = el('li', { class: isNew ? 'new' : '' }, details)
  line.dataset.candidate = item.candidateId
  return line
}

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

const HOPS = {
  accepted: () => 'The event was accepted.',
  matched: hop => `${nameOf(hop)} matched it (version ${hop.version}).`,
  verdict: hop => `Judged ${hop.verdict.outcome}, confidence ${hop.verdict.confidence}.`,
  decided: hop => `${nameOf(hop)}: ${hop.fate} (${hop.stage}), ${hop.reason}.`,
  message: hop => `A message lies in the mailbox of ${hop.agent}; it is ${hop.state}.`,
  leased: hop => `${hop.executor ?? 'An executor'} took it, attempt ${hop.attempt}.`,
  run: hop => `Attempt ${hop.attempt} ended: ${hop.run?.stopReason ?? hop.reason ?? hop.state}.`,
}

const nameOf = hop => state.names.get(hop.subscription) ?? hop.subscription

async function showWay(place, { source, id }, item) {
  place.replaceChildren(el('p', { class: 'quiet' }, 'Reading…'))
  try {
    const trace = await ask('/v1/traces', { source, id })
    const hops = trace.hops.map(hop =>
      el('li', {}, timeOf(hop.at), ' ', HOPS[hop.hop]?.(hop) ?? hop.hop, factsOf(hop)),
    )
    const why = item && item.fate !== 'delivered' ? whyNot({ source, id }, item.subscription) : null
    const body = el('details', {}, el('summary', {}, 'The event'), codeOf(trace.event))
    place.replaceChildren(el('ol', { class: 'way' }, ...hops), body, ...(why ? [why] : []))
    if (!item) place.append(whyNotFor({ source, id }))
  } catch (error) {
    place.replaceChildren(el('p', { class: 'stop', role: 'alert' }, error.message))
  }
}

function factsOf({ details, verdict, run }) {
  const facts = details ?? verdict ?? run
  const isEmpty = !facts || Object.keys(facts).length === 0
  return isEmpty ? null : el('details', {}, el('summary', {}, 'Facts'), codeOf(facts))
}

/** Loads only when opened. */
function whyNot({ source, id }, subscription) {
  const steps = el('div')
  const load = async () => {
    if (!box.open || steps.childElementCount > 0) return
    try {
      const found = await ask('/v1/explain', { source, id, subscription })
      steps.replaceChildren(el('ol', { class: 'way' }, ...found.steps.map(stepOf)))
    } catch (error) {
      steps.replaceChildren(el('p', { class: 'stop', role: 'alert' }, error.message))
    }
  }
  const box = el('details', { toggle: load }, el('summary', {}, 'Why not?'), steps)
  return box
}

const STEP_TONES = { passed: 'good', waiting: 'wait', failed: 'stop' }

function stepOf({ step, outcome, expected, actual, reason }) {
  const head = el('span', { class: `fate ${STEP_TONES[outcome] ?? 'quiet'}` }, outcome)
  const more = outcome === 'failed' || outcome === 'waiting'
  return el(
    'li',
    {},
    head,
    ` ${step}`,
    reason ? `: ${reason}` : '',
    more
      ? el('p', { class: 'quiet' }, 'expected', codeOf(expected), 'found', codeOf(actual))
      : null,
  )
}

/** For any event: each subscription can be asked why it did not fire. */
function whyNotFor(event) {
  const rows = [...state.names].map(([id, name]) => {
    const box = whyNot(event, id)
    box.firstElementChild.textContent = `Why, or why not, for ${name}?`
    return box
  })
  return el('div', {}, ...rows)
}

async function loadDecisions(cursor) {
  const page = await ask('/v1/decisions', { limit: '50', ...(cursor ? { cursor } : {}) })
  for (const item of page.items) addLine(item, { isNew: false })
  state.older = page.next
  $('more').hidden = page.next === null
}

// --- Subscriptions and notices

async function loadSubscriptions() {
  const items = []
  let cursor = null
  do {
    const page = await ask('/v1/subscriptions', { limit: '200', ...(cursor ? { cursor } : {}) })
    items.push(...page.items)
    cursor = page.next
  } while (cursor && items.length < 1000)
  for (const { id, name } of items) state.names.set(id, name)
  $('subscriptions').replaceChildren(...items.map(subscriptionOf))
  $('subscriptions-empty').hidden = items.length > 0
}

function subscriptionOf({ name, agent, owner, state: lifecycle, last, next: [next] }) {
  const { operation, approval, reason } = lifecycle
  const isLive = operation === 'active' && ['approved', 'not-required'].includes(approval)
  const shown = approval === 'pending' || approval === 'rejected' ? approval : operation
  return el(
    'li',
    {},
    el('b', {}, name),
    ` wakes ${agent} for ${owner} · `,
    el('span', { class: `fate ${isLive ? 'good' : 'wait'}` }, shown),
    isLive || !reason ? '' : ` (${reason})`,
    el(
      'div',
      { class: 'quiet' },
      ...(last ? ['Last: ', last.fate, ' ', timeOf(last.at)] : ['Has not met an event yet.']),
      ...(next ? [' Next: ', timeOf(next)] : []),
    ),
  )
}

async function loadNotices() {
  const { items } = await ask('/v1/notices', { limit: '50' })
  $('notices').replaceChildren(...items.map(noticeOf))
  $('notices-empty').hidden = items.length > 0
}

function noticeOf({ id, severity, text, at, ackAt }) {
  const acknowledge = async () => {
    await call(`/v1/notices/${encodeURIComponent(id)}/ack`, { method: 'POST' }).catch(showError)
    await loadNotices()
  }
  const tone = severity === 'info' ? 'quiet' : severity === 'warning' ? 'wait' : 'stop'
  return el(
    'li',
    {},
    el('span', { class: `fate ${tone}` }, severity),
    ` ${text} `,
    timeOf(at),
    ' ',
    ackAt
      ? el('span', { class: 'quiet' }, 'seen')
      : el('button', { type: 'button', click: acknowledge }, 'Mark as seen'),
  )
}

// --- The live stream

/** Reads server-sent events; `fetch` is used because EventSource cannot send a key. */
async function readStream(signal) {
  const response = await call('/v1/stream', { signal })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  // The lists are read once the stream is open, so that nothing falls between the two.
  await loadEverything()
  $('connection').textContent = 'Live'
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    rest += value
    const blocks = rest.split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) onBlock(block)
  }
}

async function loadEverything() {
  await Promise.all([loadSubscriptions(), loadNotices()])
  $('live').replaceChildren()
  await loadDecisions()
}

function onBlock(block) {
  const fields = Object.fromEntries(
    block
      .split('\n')
      .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  if (!fields.data) return
  const item = JSON.parse(fields.data)
  if (fields.event === 'decision') {
    if (!state.names.has(item.subscription)) refreshSoon()
    addLine(item, { isNew: true })
    announce(`${item.event.type} ${SENTENCES[item.fate] ?? item.fate}`)
    refreshSoon()
  }
  if (fields.event === 'notice') loadNotices().catch(showError)
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

/** Subscriptions change with what happens; once in two seconds is often enough. */
const refreshSoon = soon(2000, () => loadSubscriptions().catch(showError))

/** A screen reader hears one line in three seconds and not every one. */
const announce = soon(3000, text => {
  $('announce').textContent = text
})

async function followForever(signal) {
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, RETRY_MS_MAX)) {
    try {
      await readStream(signal)
      pause = 500
    } catch (error) {
      if (signal.aborted) return
      if (error.status === 401 || error.status === 403) return signOut(error.message)
    }
    $('connection').textContent = 'Away; trying again'
    await new Promise(resolve => setTimeout(resolve, pause))
  }
}

// --- Key

function showError(error) {
  $('connection').textContent = error.message
}

function signIn(key) {
  state.key = key
  sessionStorage.setItem(KEY, key)
  $('sign-in').hidden = true
  $('console').hidden = false
  $('leave').hidden = false
  $('connection').textContent = 'Connecting'
  state.stop = new AbortController()
  void followForever(state.stop.signal)
}

function signOut(message = '') {
  state.stop?.abort()
  sessionStorage.removeItem(KEY)
  state.key = ''
  for (const id of ['live', 'subscriptions', 'notices', 'asked']) $(id).replaceChildren()
  $('console').hidden = true
  $('leave').hidden = true
  $('sign-in').hidden = false
  $('sign-in-error').textContent = message
  $('connection').textContent = 'Not connected'
  $('key').focus()
}

/** A link may carry the key behind `#`, which browsers do not send; it leaves the address at once. */
function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get('key')
  if (key) history.replaceState(null, '', location.pathname + location.search)
  return key
}

function start() {
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
  $('leave').addEventListener('click', () => signOut())
  const event = eventInAddress()
  const key = takeKeyFromAddress() ?? sessionStorage.getItem(KEY)
  if (key) signIn(key)
  else signOut()
  if (!key || !event) return
  $('ask-source').value = event.source
  $('ask-id').value = event.id
  void showWay($('asked'), event)
}

/** A link may name an event whose way is shown at once. */
function eventInAddress() {
  const { source, id } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
  return source && id ? { source, id } : null
}

start()
