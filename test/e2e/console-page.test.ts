/**
 * What a person must be able to see and do on the console, in a real browser against a real host:
 * the words that a judge quoted, a label, a test that wakes nobody, a pause with its reason, what
 * the clock will do, and what waits for a person. Hostile text stays text.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { FATES } from '#kernel/domain/fate.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { findChromium, launchChromium } from '#test/support/chromium.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

const WITHIN = { timeout: 20_000 }
const HOSTILE = '<img src=x onerror=alert(1)>'
const TEXT = `Hello ${HOSTILE}\nIt is late.\nI would like\n  my money   back, please.\nThanks.`
const TICKET = { source: '/shop/tickets', id: 'ticket-1', type: 'com.shop.ticket.created' }

const chromium = findChromium()
const skip = chromium ? false : 'no Chromium is installed'

let host: HostProcess
let api: Api
let browser: Browser
/** Ids of the subscriptions that every case looks at. */
const made = { judged: '', weekly: '' }

describe('the console page', { skip, concurrency: false }, () => {
  before(async () => {
    host = await startHost('embedded', { env: { AGENT_MODEL_MODE: 'mock' } })
    api = createApi(host.url, host.key)
    made.judged = await judgedTicket()
    made.weekly = await weeklyReport()
    browser = await launchChromium(chromium ?? '')
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
  })

  it('marks the words of the evidence within the text, as untrusted, and keeps a label', () =>
    visit('en-GB', marksEvidence))
  it('finds quotes as a judge compares them, and joins those that meet', () =>
    visit('en-GB', findsQuotes))
  it('shows in red only what somebody has to mend', () => visit('en-GB', tellsFaultsApart))
  it('tries the last event without waking anybody', () => visit('en-GB', triesTheLastEvent))
  it('pauses with a reason, and resumes', () => visit('en-GB', pausesAndResumes))
  it('shows the next activations in both zones, the rule in words, and tries one', () =>
    visit('en-GB', showsWhatComes))
  it('shows when an instant was due, and what its run did', () => visit('en-GB', showsARun))
  it('tells once what was said again, and marks all of it as seen', () => visit('en-GB', tellsOnce))
  it('shows how planes and services are', () => visit('en-GB', showsTheSystem))
  it('lets a person answer what a run asks', () => visit('en-GB', answersAQuestion))
  it('lets a person take a match that the judge is not sure of', () => visit('en-GB', takesAMatch))
  it('speaks Spanish on a phone, and lets a person decide what waits', decidesInSpanish)
})

/** Opens the console, looks, and asserts that the browser complained about nothing. */
async function visit(
  locale: string,
  look: (page: Page) => Promise<void>,
  width = 1280,
): Promise<void> {
  const viewport = { width, height: 900 }
  const context = await browser.newContext({ locale, timezoneId: 'America/New_York', viewport })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', error => problems.push(String(error)))
  page.on('dialog', dialog => {
    problems.push(`a dialog opened: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(`${host.url}/#key=${host.key}`)
  await look(page)
  assert.deepEqual(problems, [])
  await context.close()
}

async function marksEvidence(page: Page): Promise<void> {
  const way = await openWay(page)
  const figure = way.locator('figure.untrusted')
  const quoted = textOf(figure.locator('mark'))
  assert.match(await quoted, /^my money {3}back, please\.$/)
  const whole = await textOf(figure.locator('blockquote'))
  assert.equal(whole, TEXT, 'the text around the quote, markup shown as text')
  assert.match(await textOf(figure), /Untrusted content.*\/shop\/tickets, at \/text/)
  assert.equal(await page.locator('img').count(), 0)
  const facts = await textOf(way.locator('.verdict dl'))
  assert.match(facts, /matched.*as the model states it; this is not a probability/s)
  assert.match(facts, /offline.*0 calls, 0 tokens/s)

  await way.getByRole('button', { name: 'Wrong' }).click()
  await way.getByText('Kept as wrong.').waitFor(WITHIN)
  const kept = await api.ok<{ items: { label: string }[] }>(
    'GET',
    `/v1/subscriptions/${made.judged}/labels`,
  )
  assert.deepEqual(
    kept.items.map(({ label }) => label),
    ['wrong'],
  )
  const again = await openWay(page)
  await again.getByRole('button', { name: 'Wrong', pressed: true }).waitFor(WITHIN)
}

async function tellsFaultsApart(page: Page): Promise<void> {
  const asked = JSON.stringify(FATES)
  const classes: string[] = await page.evaluate(
    `import('/trace.js').then(({ fateOf }) => ${asked}.map(fate => fateOf(fate).className))`,
  )
  const steps: string[] = await page.evaluate(
    `import('/trace.js').then(({ stepOf }) => ${asked}.map(fate => {
      const step = { step: 'state', outcome: 'failed', expected: null, actual: { fate } }
      return stepOf(step).querySelector('.fate').className
    }))`,
  )
  for (const shown of [classes, steps]) {
    const red = FATES.filter((_, at) => shown[at]?.split(' ').includes('stop'))
    assert.deepEqual(red, ['not-entitled', 'evaluation-failed'])
  }
}

async function findsQuotes(page: Page): Promise<void> {
  const marked = (text: string, ...quotes: string[]) =>
    page.evaluate(
      `import('/quotes.js').then(({ rangesOf }) =>
        rangesOf(${JSON.stringify(text)}, ${JSON.stringify(quotes)}))`,
    ) as Promise<[number, number][]>
  const cut = async (text: string, ...quotes: string[]) =>
    (await marked(text, ...quotes)).map(([from, to]) => text.slice(from, to))
  assert.deepEqual(await cut('a  ﬁrst\r\n Ｏrder, e\u0301l', 'first Order'), ['ﬁrst\r\n Ｏrder'])
  assert.deepEqual(await cut('one two three', 'two three', 'one two'), ['one two three'])
  assert.deepEqual(await cut('café', 'cafe\u0301'), ['café'])
  assert.deepEqual(await cut('one two', 'three', ''), [])
}

async function triesTheLastEvent(page: Page): Promise<void> {
  const row = await openSubscription(page, 'refund-wishes')
  assert.match(await textOf(row), /events of type com\.shop\.ticket\.\*/)
  assert.match(await textOf(row), /the customer asks for a refund/)
  const known = await api.messages('support')
  await row.getByText('Test now').click()
  const box = row.getByRole('textbox', { name: 'Sample event' })
  await filled(box, /my money/)
  await row.getByRole('button', { name: 'Try it' }).click()
  await row.getByText('This was a test: nobody was woken.').waitFor(WITHIN)
  const tried = row.locator('.tried')
  assert.match(await textOf(tried), /woke the agent/)
  assert.match(await textOf(tried.locator('mark')), /my money/)
  assert.equal((await api.messages('support')).length, known.length)

  await box.fill('{"specversion": ')
  await row.getByRole('button', { name: 'Try it' }).click()
  await row.getByRole('alert').getByText('This is not JSON').waitFor(WITHIN)
}

async function pausesAndResumes(page: Page): Promise<void> {
  const row = await openSubscription(page, 'refund-wishes')
  await row.getByRole('button', { name: 'Pause' }).click()
  assert.equal((await api.subscription(made.judged)).state.operation, 'active')
  await row.getByLabel('Reason').fill('the shop is closed')
  await row.getByRole('button', { name: 'Pause' }).click()
  await row.getByRole('button', { name: 'Resume' }).waitFor(WITHIN)
  assert.match(await textOf(row.locator('summary').first()), /paused \(the shop is closed\)/)
  const { state } = await api.subscription(made.judged)
  assert.deepEqual([state.operation, state.reason], ['paused', 'the shop is closed'])
  await row.getByRole('button', { name: 'Resume' }).click()
  await row.getByRole('button', { name: 'Pause' }).waitFor(WITHIN)
  assert.equal((await api.subscription(made.judged)).state.operation, 'active')
}

async function showsWhatComes(page: Page): Promise<void> {
  const row = await openSubscription(page, 'weekly-report')
  assert.match(await textOf(row), /every week on Monday at 09:00 \(Europe\/Madrid\)/)
  const next = row.locator('ol.next > li')
  await next.nth(9).waitFor(WITHIN)
  const { next: instants = [] } = await api.subscription(made.weekly)
  assert.equal(await next.first().locator('time').getAttribute('datetime'), instants[0])
  assert.match(await textOf(next.first()), /^Mon.*03:00 \(your time\), 09:00 \(Europe\/Madrid\)$/)
  const coming = page.locator('#coming > li')
  assert.match(await textOf(coming.first()), /weekly-report → planner/)

  await row.getByText('Test now').click()
  const box = row.getByRole('textbox', { name: 'Sample event' })
  await filled(box, /time\.recurrence/)
  await row.getByRole('button', { name: 'Try it' }).click()
  assert.match(await textOf(row.locator('.tried')), /woke the agent/)
}

async function showsARun(page: Page): Promise<void> {
  const once = new Date(Date.now() + 3500).toISOString().slice(0, 19)
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: 'just-once', agent: 'clerk', instruction: 'Count.' },
    schedule: { once, tzid: 'Etc/UTC' },
  })
  const [item] = await api.claim('clerk', { waitMs: 10_000 })
  assert.ok(item, 'the instant woke the agent')
  await api.complete(item, {
    ...{ ok: true, stopReason: 'final-message', toolCalls: 2 },
    usage: { inputTokens: 12, outputTokens: 3 },
  })
  const [due] = await api.decisions({ subscription: id })
  const way = await lookUp(page, due?.event.source ?? '', due?.event.id ?? '')
  await way.getByText('Stopped because').waitFor(WITHIN)
  const text = await textOf(way)
  assert.match(text, /Was due.*Missed before it0/s)
  assert.match(text, /Stopped becauseit answered.*Tool calls2.*12 tokens in, 3 tokens out/s)
}

async function tellsOnce(page: Page): Promise<void> {
  const type = 'com.shop.spike'
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: 'spikes', agent: 'support', instruction: 'Look.', on: { types: [type] } },
    limits: { storm: { windowMs: 60_000, max: 1 } },
  })
  const storm = async (name: string) => {
    for (const n of [1, 2])
      await api.publish({ source: '/shop', id: `${name}-${n}`, type, data: {} })
    await api.decision(id, `${name}-2`, 'storm')
    await eventually('the suspension', async () => {
      const { state } = await api.subscription(id)
      return state.operation === 'suspended' ? { state } : state
    })
  }
  await storm('first')
  await api.ok('POST', `/v1/subscriptions/${id}/resume`, { reason: 'again' })
  await storm('second')
  const rows = page.locator('#notices > li', { hasText: 'spikes: ' })
  await rows.getByText('came 2 times').waitFor(WITHIN)
  assert.equal(await rows.count(), 1)
  await rows.getByRole('button', { name: 'Mark as seen' }).click()
  await rows.getByText('seen', { exact: true }).waitFor(WITHIN)
  const { items } = await api.ok<{ items: { subscription: string; ackAt?: string }[] }>(
    'GET',
    '/v1/notices?limit=200',
  )
  const own = items.filter(({ subscription }) => subscription === id)
  assert.deepEqual(
    own.map(({ ackAt }) => ackAt !== undefined),
    [true, true],
  )
}

async function answersAQuestion(page: Page): Promise<void> {
  await api.ok('POST', '/v1/subscriptions', {
    ...{ name: 'asks', agent: 'asker', instruction: 'Ask.', on: { types: ['com.shop.asks'] } },
  })
  await api.publish({ source: '/shop', type: 'com.shop.asks', data: {} })
  const [item] = await api.claim('asker', { waitMs: 10_000 })
  assert.ok(item, 'the event woke the agent')
  await api.ok('POST', `/v1/messages/${item.message.id}/ask`, {
    ...{ handle: item.lease.handle, question: `May I refund? ${HOSTILE}` },
  })
  const waiting = page.getByRole('region', { name: 'Waits for a person' })
  await waiting.getByText(`May I refund? ${HOSTILE}`).waitFor(WITHIN)
  await waiting.getByRole('button', { name: 'Accept' }).click()
  await waiting.getByText('Nothing waits for you.').waitFor(WITHIN)
  const [answer] = await api.claim('asker', { waitMs: 10_000 })
  assert.match(JSON.stringify(answer?.message), /"decision":"accept"/)
}

async function takesAMatch(page: Page): Promise<void> {
  const type = 'com.shop.unsure'
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: 'unsure-wishes', agent: 'support', instruction: 'Draft.', on: { types: [type] } },
    condition: { criterion: 'the customer asks for a refund', minConfidence: 1, askConfidence: 0 },
  })
  const events = ['unsure-1', 'unsure-2']
  for (const each of events) {
    await api.publish({ source: '/shop', id: each, type, data: { title: HOSTILE, text: TEXT } })
    await api.decision(id, each, 'held')
  }
  const waiting = page.getByRole('region', { name: 'Waits for a person' })
  const rows = waiting.locator('li', {
    hasText: 'unsure-wishes is not sure whether to wake support',
  })
  const row = rows.first()
  await row.locator('figure.untrusted mark').first().waitFor(WITHIN)
  assert.match(await textOf(row), /Does this meet: the customer asks for a refund\?/)
  assert.match(await textOf(row), /Untrusted content.*\/shop, at \/text/)
  await row.getByRole('button', { name: 'Wake the agent' }).click()
  await api.decision(id, 'unsure-1', 'delivered')
  await rows.nth(1).waitFor({ state: 'detached', timeout: 20_000 })
  await rows.first().getByRole('button', { name: 'Leave it' }).click()
  await api.decision(id, 'unsure-2', 'rejected')
  await waiting.getByText('Nothing waits for you.').waitFor(WITHIN)
  const way = await lookUp(page, '/shop', 'unsure-1')
  await way.getByText('user:admin (accept)').waitFor(WITHIN)
  await way.getByText('unsure-wishes: user:admin answered: accept.').waitFor(WITHIN)
}

async function decidesInSpanish(): Promise<void> {
  await api.ok('PUT', '/v1/policy', { approval: [{ when: { origin: 'person' }, require: true }] })
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: 'asked-for', agent: 'support', instruction: 'Answer.' },
    on: { types: ['com.shop.question'] },
  })
  const look = async (page: Page) => {
    const waiting = page.getByRole('region', { name: 'Espera a una persona' })
    await waiting.getByText('asked-for quiere despertar a support').waitFor(WITHIN)
    await waiting.getByRole('button', { name: 'Aprobar' }).click()
    await waiting.getByText('Nada le espera.').waitFor(WITHIN)
    assert.equal((await api.subscription(id)).state.approval, 'approved')
    const way = await openWay(page)
    assert.match(await textOf(way.locator('figure.untrusted')), /Contenido no fiable/)
    assert.match(await textOf(way), /despertó al agente \(entrega: nada lo impedía\)/)
    const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
    assert.equal(isWide, false, 'nothing scrolls sideways')
    assert.equal(await page.getByRole('link', { name: 'Chat' }).getAttribute('href'), '/chat')
  }
  await visit('es-ES', look, 390)
}

/** A judged event whose text is hostile; resolves with the subscription when the agent is woken. */
async function judgedTicket(): Promise<string> {
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: 'refund-wishes', agent: 'support', instruction: 'Draft an answer.' },
    on: { types: ['com.shop.ticket.*'] },
    condition: { criterion: 'the customer asks for a refund' },
  })
  await api.publish({ ...TICKET, data: { title: HOSTILE, text: TEXT } })
  await api.decision(id, TICKET.id, 'delivered')
  return id
}

async function weeklyReport(): Promise<string> {
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: 'weekly-report', agent: 'planner', instruction: 'Write the report.' },
    schedule: { dtstart: '2026-01-05T09:00:00', tzid: 'Europe/Madrid', rrule: 'FREQ=WEEKLY' },
  })
  return id
}

/** Looks the ticket up and waits for its verdict. */
async function openWay(page: Page): Promise<Locator> {
  const way = await lookUp(page, TICKET.source, TICKET.id)
  await way.locator('mark').waitFor(WITHIN)
  return way
}

async function lookUp(page: Page, source: string, id: string): Promise<Locator> {
  const form = page.locator('#ask')
  await page.locator('#subscriptions > li').first().waitFor(WITHIN)
  await form.getByRole('textbox').nth(0).fill(source)
  await form.getByRole('textbox').nth(1).fill(id)
  await form.getByRole('button').click()
  return page.locator('#asked')
}

async function openSubscription(page: Page, name: string): Promise<Locator> {
  const row = page.locator('#subscriptions > li', { hasText: name })
  await row.locator('summary').first().click(WITHIN)
  await row.locator('dl').first().waitFor(WITHIN)
  return row
}

async function textOf(place: Locator): Promise<string> {
  return (await place.textContent(WITHIN)) ?? ''
}

function filled(box: Locator, what: RegExp): Promise<object> {
  return eventually(`a sample with ${what}`, async () => {
    const value = await box.inputValue()
    return what.test(value) ? { value } : value
  })
}

async function showsTheSystem(page: Page): Promise<void> {
  const system = page.getByRole('region', { name: 'System' })
  const text = await system
    .getByRole('listitem')
    .filter({ hasText: 'scheduler' })
    .textContent(WITHIN)
  assert.match(text ?? '', /scheduler (ok|behind) .*schedules: [1-9]/)
  for (const part of ['Control plane', 'Execution plane', 'mcp-poller', 'judge']) {
    await system.getByText(part, { exact: true }).waitFor(WITHIN)
  }
}
