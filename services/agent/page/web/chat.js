/**
 * The chat page. Everything that comes from outside is put on the page as text, never as markup.
 * The key lives in this tab's sessionStorage and travels in the Authorization header only.
 */
import { language, words } from './words.js'

const KEY = 'ambit-key'
const SESSION = 'ambit-chat-session'
const RETRY_MS_MAX = 15_000

const $ = id => document.getElementById(id)
const state = { key: '', agent: 'assistant', session: '', pending: [], shown: '', stop: null }

/** Makes an element; children are elements or texts. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children.filter(child => child !== null && child !== undefined))
  return made
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

// --- What is shown

function show(view) {
  state.pending = state.pending.filter(
    ({ id }) => !view.messages.some(({ messageId, role }) => role === 'user' && messageId === id),
  )
  const waiting = state.pending.map(({ text }) => ({ role: 'user', text, isPending: true }))
  const messages = [...view.messages, ...waiting]
  showMessages(messages)
  const last = messages.at(-1)
  if (last?.role === 'assistant' && last.messageId === state.drafted) showDraft(null)
  $('busy').textContent = messages.at(-1)?.role === 'user' ? words.thinking : ''
  $('summary').textContent = view.summary
  $('operation-list').replaceChildren(...view.operations.map(operationOf))
  $('no-operations').hidden = view.operations.length > 0
  showCause(view.cause)
}

/** The answer while it comes: beside the log, which holds what was said and nothing else. */
function showDraft(draft) {
  state.drafted = draft?.messageId
  $('draft').hidden = !draft || draft.text.trim() === ''
  $('draft').textContent = draft?.text ?? ''
  if (draft) $('draft').scrollIntoView({ block: 'end' })
}

/** Only what is new is added: a screen reader hears a log as it grows. */
function showMessages(messages) {
  const log = $('log')
  const kept = messages.findIndex(
    (message, at) => log.children[at]?.dataset.mark !== markOf(message),
  )
  const from = kept < 0 ? messages.length : kept
  while (log.children.length > from) log.lastElementChild.remove()
  log.append(...messages.slice(from).map(articleOf))
  if (from < messages.length) log.lastElementChild.scrollIntoView({ block: 'end' })
}

const markOf = ({ role, text, messageId, isPending }) =>
  `${isPending ? 'pending' : messageId}/${role}/${text}`

function articleOf(message) {
  const { role, text } = message
  const name = role === 'user' ? words.you : words.assistant
  const article = el('article', { 'data-role': role, 'aria-label': name }, el('p', {}, text))
  article.dataset.mark = markOf(message)
  return article
}

function operationOf({ tool, target, state: stands, attempts, delivery }) {
  return el(
    'li',
    { 'data-state': stands, ...(delivery ? { 'data-delivery': delivery } : {}) },
    el('span', { class: 'target' }, target),
    ' ',
    el('span', { class: 'state' }, stands),
    el(
      'span',
      { class: 'quiet' },
      ` ${tool}${attempts > 1 ? `, ${words.attempt}${attempts}` : ''}`,
    ),
  )
}

/** What woke the session: its subscription, and the trace of each event. */
function showCause(cause) {
  $('cause').hidden = !cause
  if (!cause) return
  const links = cause.events.map(({ source, id, type }) =>
    el('a', { href: `/#${new URLSearchParams({ source, id })}` }, `${words.trace}${type}`),
  )
  const name = cause.subscription?.name ?? ''
  $('cause').replaceChildren(`${words.wokenBy}${name} `, ...links.flatMap(link => [link, ' ']))
}

// --- What is said

async function say(text) {
  $('error').textContent = ''
  const body = JSON.stringify({ session: state.session, kind: 'turn', input: { text } })
  const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
  const path = `/v1/mailboxes/${encodeURIComponent(state.agent)}/continuations`
  const { id } = await (await call(path, { method: 'POST', body, headers })).json()
  state.pending.push({ id, text })
  if (state.view) show(state.view)
}

function onSay(event) {
  event.preventDefault()
  const text = $('message').value.trim()
  if (text === '') return
  $('message').value = ''
  say(text).catch(error => {
    $('message').value ||= text
    $('error').textContent = error.message
  })
}

// --- The live stream

/** Reads server-sent events; `fetch` is used because EventSource cannot send a key. */
async function readStream(signal) {
  const path = `/v1/agent/sessions/${encodeURIComponent(state.session)}/stream`
  const response = await call(path, { signal })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  $('connection').textContent = words.connected
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    rest += value
    const blocks = rest.split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) onBlock(block)
  }
}

function onBlock(block) {
  const lines = block.split('\n')
  const data = lines.find(line => line.startsWith('data: '))
  if (!data) return
  const value = JSON.parse(data.slice('data: '.length))
  if (lines.includes('event: draft')) return showDraft(value)
  state.view = value
  show(value)
}

async function followForever(signal) {
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, RETRY_MS_MAX)) {
    try {
      await readStream(signal)
      pause = 500
    } catch (error) {
      if (signal.aborted) return
      if (error.status === 401 || error.status === 403) return signOut(error.message)
    }
    showDraft(null)
    $('connection').textContent = words.away
    await new Promise(resolve => setTimeout(resolve, pause))
  }
}

// --- Sessions and key

function openSession(session) {
  state.stop?.abort()
  state.session = session
  state.pending = []
  state.view = null
  sessionStorage.setItem(SESSION, session)
  $('log').replaceChildren()
  showDraft(null)
  state.stop = new AbortController()
  void followForever(state.stop.signal)
}

async function loadAgent() {
  const { agent, mode, model, sessions } = await (await call('/v1/agent')).json()
  state.agent = agent
  $('mode').textContent = mode === 'mock' ? words.mock : `${words.real}${model}`
  $('sessions').hidden = sessions.length === 0
  $('session-list').replaceChildren(
    ...sessions.map(({ session, at, isWoken }) => {
      const link = el('a', { href: `#${new URLSearchParams({ session })}` }, session)
      const time = new Date(at).toLocaleString(language)
      return el('li', {}, link, ` ${time}${isWoken ? ` · ${words.woken}` : ''}`)
    }),
  )
}

async function signIn(key) {
  state.key = key
  try {
    await loadAgent()
  } catch (error) {
    return signOut(error.message)
  }
  sessionStorage.setItem(KEY, key)
  for (const id of ['chat', 'leave', 'fresh']) $(id).hidden = false
  $('sign-in').hidden = true
  openSession(sessionInAddress() ?? sessionStorage.getItem(SESSION) ?? newSession())
  $('message').focus()
}

function signOut(message = '') {
  state.stop?.abort()
  sessionStorage.removeItem(KEY)
  state.key = ''
  for (const id of ['chat', 'leave', 'fresh']) $(id).hidden = true
  $('sign-in').hidden = false
  $('sign-in-error').textContent = message
  $('connection').textContent = ''
  $('key').focus()
}

const newSession = () => `chat-${crypto.randomUUID()}`
const sessionInAddress = () => new URLSearchParams(location.hash.slice(1)).get('session')

/** A link may carry the key behind `#`, which browsers do not send; it leaves the address at once. */
function takeKeyFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1))
  const key = given.get('key')
  given.delete('key')
  if (key) history.replaceState(null, '', `${location.pathname}#${given}`)
  return key
}

function translate() {
  document.documentElement.lang = language
  for (const element of document.querySelectorAll('[data-word]')) {
    element.textContent = words[element.dataset.word]
  }
  $('log').setAttribute('aria-label', words.conversation)
  $('operations').setAttribute('aria-label', words.operations)
  $('sessions').setAttribute('aria-label', words.sessions)
}

function start() {
  translate()
  $('sign-in').addEventListener('submit', event => {
    event.preventDefault()
    const key = $('key').value.trim()
    $('key').value = ''
    void signIn(key)
  })
  $('say').addEventListener('submit', onSay)
  $('message').addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    $('say').requestSubmit()
  })
  $('leave').addEventListener('click', () => signOut())
  $('fresh').addEventListener('click', () => {
    openSession(newSession())
    loadAgent().catch(() => {})
  })
  addEventListener('hashchange', () => {
    const session = sessionInAddress()
    if (session && state.key) openSession(session)
  })
  const key = takeKeyFromAddress() ?? sessionStorage.getItem(KEY)
  if (key) void signIn(key)
  else signOut()
}

start()
