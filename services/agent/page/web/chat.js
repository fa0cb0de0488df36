/**
 * The chat page. Everything that comes from outside is put on the page as text, never as markup.
 * The key lives in this tab's sessionStorage and travels in the Authorization header only.
 */
import { access, ask, post } from '../../../kernel/web/call.js'
import { $, el, timeOf } from '../../../kernel/web/dom.js'
import { followStream } from '../../../kernel/web/follow-stream.js'
import { addressed, forgetKey, keepKey, knownKey } from '../../../kernel/web/kept-key.js'
import { translate } from '../../../kernel/web/language.js'
import { words } from './words.js'

const SESSION = 'ambit-chat-session'
const state = { agent: 'assistant', session: '', pending: [], shown: '', stop: null }

// --- What is shown

function show(view) {
  state.pending = state.pending.filter(
    ({ id }) => !view.messages.some(({ messageId, role }) => role === 'user' && messageId === id),
  )
  const waiting = state.pending.map(({ text }) => ({ role: 'user', text, isPending: true }))
  const messages = [...view.messages, ...waiting]
  showMessages(messages)
  $('examples').hidden = messages.length > 0
  const last = messages.at(-1)
  if (last?.role === 'assistant' && last.messageId === state.drafted) showDraft(null)
  $('busy').textContent = messages.at(-1)?.role === 'user' ? words.thinking : ''
  $('summary').textContent = words.summaries[view.summary] ?? view.summary
  $('summary').dataset.summary = view.summary
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
    el('span', { class: 'state' }, words.states[stands] ?? stands),
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
  const body = { session: state.session, kind: 'turn', input: { text } }
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const path = `/v1/mailboxes/${encodeURIComponent(state.agent)}/continuations`
  const { id } = await (await post(path, body, headers)).json()
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

/** What an empty conversation can begin with: it is put in the box, for a person to change or send. */
function exampleOf(text) {
  const take = () => {
    $('message').value = text
    $('message').focus()
  }
  return el('li', {}, el('button', { type: 'button', click: take }, text))
}

// --- The live stream

function onOpen() {
  $('connection').textContent = words.connected
}

function onEvent(name, value) {
  if (name === 'draft') return showDraft(value)
  state.view = value
  show(value)
}

function onAway() {
  showDraft(null)
  $('connection').textContent = words.away
}

// --- Sessions and key

function openSession(session) {
  state.stop?.abort()
  state.session = session
  state.pending = []
  state.view = null
  sessionStorage.setItem(SESSION, session)
  $('log').replaceChildren()
  $('examples').hidden = true
  showDraft(null)
  state.stop = new AbortController()
  const path = `/v1/agent/sessions/${encodeURIComponent(session)}/stream`
  const { signal } = state.stop
  void followStream({ path, signal, onOpen, onEvent, onAway, onRefused: signOut })
}

async function loadAgent() {
  const { agent, mode, model, sessions } = await ask('/v1/agent')
  state.agent = agent
  $('mode').textContent = mode === 'mock' ? words.mock : `${words.real}${model}`
  $('sessions').hidden = sessions.length === 0
  $('session-list').replaceChildren(
    ...sessions.map(({ session, at, isWoken }) => {
      const link = el('a', { href: `#${new URLSearchParams({ session })}` }, session)
      return el('li', {}, link, ' ', timeOf(at), isWoken ? ` · ${words.woken}` : '')
    }),
  )
}

async function signIn(key) {
  access.key = key
  try {
    await loadAgent()
  } catch (error) {
    return signOut(error.message)
  }
  keepKey(key)
  for (const id of ['chat', 'leave', 'fresh']) $(id).hidden = false
  $('sign-in').hidden = true
  openSession(sessionInAddress() ?? sessionStorage.getItem(SESSION) ?? newSession())
  $('message').focus()
}

function signOut(message = '') {
  state.stop?.abort()
  forgetKey()
  access.key = ''
  for (const id of ['chat', 'leave', 'fresh']) $(id).hidden = true
  $('sign-in').hidden = false
  $('sign-in-error').textContent = message
  $('connection').textContent = ''
  $('key').focus()
}

const newSession = () => `chat-${crypto.randomUUID()}`
const sessionInAddress = () => addressed().session

function start() {
  translate(words)
  $('example-list').replaceChildren(...Object.values(words.examples).map(exampleOf))
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
    if (session && access.key) openSession(session)
  })
  const key = knownKey()
  if (key) void signIn(key)
  else signOut()
}

start()
