/**
 * What a person sees of an answer while it comes, in a real browser, against a model whose stream a
 * test drives: the text grows, the whole answer takes its place once, and of an answer that is cut
 * off or whose stream breaks no half stays.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { findChromium, launchChromium } from '#test/support/chromium.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'
import { endOf, responseOf, textItem } from '#test/support/scripted-responses.ts'
import { type ScriptedServer, scriptedServer } from '#test/support/scripted-server.ts'

const WITHIN = { timeout: 20_000 }
const chromium = findChromium()
const skip = chromium ? false : 'no Chromium is installed'

/** A model whose answers stay open until a test ends them. */
async function drivenModel(): Promise<ScriptedServer & { next(): Promise<ServerResponse> }> {
  const streams: ServerResponse[] = []
  const waiting: ((stream: ServerResponse) => void)[] = []
  const server = await scriptedServer(() => response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    const take = waiting.shift()
    if (take) take(response)
    else streams.push(response)
  })
  const next = () =>
    new Promise<ServerResponse>(resolve => {
      const stream = streams.shift()
      if (stream) resolve(stream)
      else waiting.push(resolve)
    })
  return { ...server, next }
}

const send = (stream: ServerResponse, event: object) =>
  void stream.write(`data: ${JSON.stringify(event)}\n\n`)
const delta = (stream: ServerResponse, text: string) =>
  send(stream, { type: 'response.output_text.delta', delta: text })
const end = (stream: ServerResponse, type: 'completed' | 'incomplete', text: string) => {
  send(stream, endOf(type, responseOf([textItem(text)])))
  stream.end()
}

/** Asks in a session of its own; what the page then shows. */
async function ask(browser: Browser, host: HostProcess, text: string) {
  const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
  await page.goto(`${host.url}/chat#key=${host.key}`)
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.keyboard.press('Enter')
  const draft = page.locator('#draft')
  const assistant = page.locator('#log article[data-role="assistant"]')
  return {
    ...{ page, draft, assistant },
    shows: (text: RegExp) => draft.filter({ hasText: text }).waitFor(WITHIN),
    /** The messages, once one is there and the draft has gone. */
    async said() {
      await assistant.first().waitFor(WITHIN)
      await draft.waitFor({ ...WITHIN, state: 'hidden' })
      return assistant.allTextContents()
    },
  }
}

describe('an answer while it comes', { skip }, () => {
  let model: Awaited<ReturnType<typeof drivenModel>>
  let host: HostProcess
  let browser: Browser
  before(async () => {
    model = await drivenModel()
    host = await startHost('embedded', {
      env: {
        ...{ RESPONSES_API_KEY: 'k', RESPONSES_BASE_URL: `${model.url}/v1` },
        ...{ RESPONSES_MODEL: 'scripted', AGENT_MODEL_MODE: 'real' },
      },
    })
    browser = await launchChromium(chromium ?? '')
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
    await model?.close()
  })

  it('grows, and is one message in the end', async () => {
    const chat = await ask(browser, host, 'What time is it?')
    const stream = await model.next()
    delta(stream, 'It is ')
    await chat.shows(/^It is $/)
    assert.equal(await chat.assistant.count(), 0)
    delta(stream, 'noon.')
    await chat.shows(/^It is noon\.$/)
    end(stream, 'completed', 'It is noon.')
    assert.deepEqual(await chat.said(), ['It is noon.'])
    await chat.page.reload()
    assert.deepEqual(await chat.said(), ['It is noon.'])
  })

  it('leaves nothing of an answer that is cut off', async () => {
    const chat = await ask(browser, host, 'Tell me a lot.')
    const stream = await model.next()
    delta(stream, 'Once upon')
    await chat.shows(/Once upon/)
    end(stream, 'incomplete', 'Once upon')
    assert.match((await chat.said()).join(), /^I had to stop .*truncated/)
  })

  it('begins anew when the stream breaks, and joins no halves', async () => {
    const chat = await ask(browser, host, 'What is it?')
    const broken = await model.next()
    delta(broken, 'A half')
    await chat.shows(/A half/)
    broken.destroy()
    const stream = await model.next()
    delta(stream, 'A whole')
    await chat.shows(/^A whole$/)
    end(stream, 'completed', 'A whole one.')
    assert.deepEqual(await chat.said(), ['A whole one.'])
  })
})
