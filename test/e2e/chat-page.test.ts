/**
 * What a person must be able to see on the chat page, in a real browser against a real host: the
 * acceptance before the HTTP call ends, a panel that moves while the chat stays free, another
 * question meanwhile, one closing for five accesses, and a failure told by the model.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { findChromium, launchChromium } from '#test/support/chromium.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

const FIVE =
  'Dame acceso a soporte@example.com con rol admin en Notion, GitHub, Jira, Figma y Slack'
const EXAMPLES = [
  ['en-GB', 'Create a ticket "VPN is down" with priority high'],
  ['es-ES', 'Crea un ticket "La VPN no funciona" con prioridad alta'],
] as const
const DELAY_MS = 2500
const WITHIN = { timeout: 20_000 }

const chromium = findChromium()
const skip = chromium ? false : 'no Chromium is installed'

describe('the chat page', { skip }, () => {
  let host: HostProcess
  let browser: Browser
  before(async () => {
    host = await startHost('embedded', {
      env: { AGENT_MODEL_MODE: 'mock', AGENT_MOCK_DELAY_MS: `${DELAY_MS}` },
    })
    browser = await launchChromium(chromium ?? '')
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
  })

  const open = (locale: string) => openChat(browser, host, locale)

  it('shows the five observations of the guide, in Spanish', async () => {
    const { page, problems, chat } = await open('es-ES')
    await chat.say(FIVE)
    const asked = performance.now()
    await chat.assistant.first().waitFor(WITHIN)
    assert.match(await textOf(chat.assistant.first()), /Activo 5 accesos\. Te aviso al cerrar\./)
    assert.ok(performance.now() - asked < DELAY_MS, 'accepted before the HTTP call ended')
    await chat.operations.nth(4).waitFor(WITHIN)
    assert.match(await textOf(chat.operations.nth(0)), /Notion.*(aceptada|en marcha)/s)

    await chat.say('Que es un webhook?')
    await chat.assistant.nth(1).waitFor(WITHIN)
    assert.match(await textOf(chat.assistant.nth(1)), /^Un webhook es/)
    const states = await chat.operations.allTextContents()
    assert.ok(
      states.some(text => /en marcha/.test(text)),
      'the answer came while work went on',
    )

    await chat.say('Como van las operaciones?')
    await chat.assistant.nth(2).waitFor(WITHIN)
    assert.match(await textOf(chat.assistant.nth(2)), /Slack/)

    await chat.assistant.nth(3).waitFor(WITHIN)
    const closing = await textOf(chat.assistant.nth(3))
    for (const name of ['Notion', 'GitHub', 'Jira', 'Figma', 'Slack']) {
      assert.ok(closing.includes(name), `${name} is in the one closing`)
    }
    await page.locator('#summary', { hasText: 'contada por iniciativa propia' }).waitFor(WITHIN)
    for (const text of await chat.operations.allTextContents()) {
      assert.match(text, /contada por iniciativa propia/)
    }
    assert.equal(await chat.user.count(), 3)
    assert.equal(await chat.assistant.count(), 4)
    assert.deepEqual(problems, [])
    await page.context().close()
  })

  for (const [locale, example] of EXAMPLES) {
    it(`offers what an empty conversation can begin with, in ${locale}`, async () => {
      const { page, problems, chat } = await open(locale)
      await takesAnExample(page, chat, example)
      assert.deepEqual(problems, [])
      await page.context().close()
    })
  }

  it('works in English, tells failures, and shows the same after a reload', async () => {
    const { page, problems, chat } = await open('en-GB')
    await chat.say('Give fail@example.com access to Jira with the role viewer')
    await chat.assistant.nth(1).waitFor(WITHIN)
    assert.match(await textOf(chat.assistant.nth(1)), /could not activate[\s\S]*refused it/)
    assert.match(await textOf(chat.operations.first()), /failed/)
    await page.reload()
    await chat.assistant.nth(1).waitFor(WITHIN)
    assert.equal(await chat.user.count(), 1)
    assert.deepEqual(problems, [])
    await page.context().close()
  })
})

/** The page, and what its browser complained about. */
async function openChat(browser: Browser, host: HostProcess, locale: string) {
  const context = await browser.newContext({ locale })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', error => problems.push(String(error)))
  await page.goto(`${host.url}/chat#key=${host.key}`)
  return { page, problems, chat: chatOf(page, locale) }
}

async function takesAnExample(
  page: Page,
  chat: ReturnType<typeof chatOf>,
  example: string,
): Promise<void> {
  const offered = page.locator('#examples button')
  await offered.first().waitFor(WITHIN)
  assert.equal(await offered.count(), 3)
  await page.getByRole('button', { name: example }).click()
  assert.equal(await chat.box.inputValue(), example)
  assert.equal(await chat.user.count(), 0, 'nothing is sent by itself')
  await chat.box.press('Enter')
  await chat.assistant.first().waitFor(WITHIN)
  await chat.operations.filter({ hasText: 'VPN' }).first().waitFor(WITHIN)
  assert.equal(await offered.first().isVisible(), false)
}

async function textOf(place: Locator): Promise<string> {
  return (await place.textContent()) ?? ''
}

function chatOf(page: Page, locale: string) {
  const isSpanish = locale.startsWith('es')
  const log = page.getByRole('log', { name: isSpanish ? 'Conversación' : 'Conversation' })
  const panel = page.getByRole('complementary', { name: isSpanish ? 'Operaciones' : 'Operations' })
  const box = page.getByRole('textbox', { name: isSpanish ? 'Mensaje' : 'Message' })
  return {
    box,
    user: log.locator('article[data-role="user"]'),
    assistant: log.locator('article[data-role="assistant"]'),
    operations: panel.getByRole('listitem'),
    async say(text: string) {
      await box.fill(text)
      await box.press('Enter')
    },
  }
}
