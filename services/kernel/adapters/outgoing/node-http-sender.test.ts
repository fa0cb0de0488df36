import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SendFailure } from '#kernel/ports/http-sender.ts'
import { readCases } from '#test/support/cases.ts'
import { isGlobalAddress } from './global-address.ts'
import { createNodeHttpSender } from './node-http-sender.ts'
import type { Exchange } from './pinned-request.ts'

interface SsrfCase {
  id: string
  url: string
  verdict: 'allow' | 'deny'
  why: string
  resolve?: Record<string, string[]>
  resolve_at_delivery?: Record<string, string[]>
  redirects_to?: string
}

/** A sender with the case's DNS, whose connector writes down where it was sent. */
function senderOf(line: SsrfCase, names: Record<string, string[]> = line.resolve ?? {}) {
  const attempts: Exchange[] = []
  const sender = createNodeHttpSender({
    resolve: async host => names[host] ?? [],
    connect: async exchange => {
      attempts.push(exchange)
      const { redirects_to: location } = line
      const headers: Record<string, string> = location ? { location } : {}
      return { status: location ? 302 : 204, headers }
    },
  })
  return { sender, attempts }
}

/** Registration, then a delivery: done only on 2xx (I16). */
async function deliver(line: SsrfCase) {
  const registration = senderOf(line)
  const isRegistered = await registration.sender.check(line.url).then(
    () => true,
    () => false,
  )
  const { sender, attempts } = senderOf(line, line.resolve_at_delivery ?? line.resolve)
  const request = { url: line.url, method: 'POST', headers: {}, timeoutMs: 1000 }
  const isDone = await sender.send({ ...request, body: Buffer.from('{}') }).then(
    ({ status }) => status >= 200 && status < 300,
    error => {
      assert.ok(error instanceof SendFailure, `a fixed word, not ${error}`)
      return false
    },
  )
  return { isRegistered, isDone, attempts: [...registration.attempts, ...attempts] }
}

describe('I16 outgoing addresses, case by case', () => {
  for (const line of readCases<SsrfCase>('ssrf.jsonl')) {
    it(`${line.id} ${line.verdict}: ${line.why}`, async () => {
      const { isRegistered, isDone, attempts } = await deliver(line)
      const reached = attempts.flatMap(({ addresses }) => addresses)
      assert.deepEqual(
        reached.filter(address => !isGlobalAddress(address)),
        [],
      )
      assert.equal(isDone, line.verdict === 'allow')
      assert.equal(attempts.length > 0, line.verdict === 'allow' || Boolean(line.redirects_to))
      if (line.verdict === 'allow') assert.ok(isRegistered)
    })
  }
})

describe('the sender', () => {
  const url = 'https://hooks.example.com/in'
  const line = (more: Partial<SsrfCase>): SsrfCase => ({
    ...{ id: '', why: '', verdict: 'allow', url },
    ...{ resolve: { 'hooks.example.com': ['93.184.215.14', '2606:4700:4700::1111'] } },
    ...more,
  })
  const request = { url, method: 'POST', headers: {}, body: new Uint8Array(), timeoutMs: 1000 }
  const failsWith = (word: string) => (error: unknown) =>
    error instanceof SendFailure && error.word === word && error.message === word

  it('connects to the addresses it judged, in the order of DNS', async () => {
    const { sender, attempts } = senderOf(line({}))
    await sender.send(request)
    assert.deepEqual(attempts[0]?.addresses, ['93.184.215.14', '2606:4700:4700::1111'])
  })
  it('answers a redirect as a status and connects once', async () => {
    const { sender, attempts } = senderOf(line({ redirects_to: 'https://other.example.com/' }))
    assert.equal((await sender.send(request)).status, 302)
    assert.equal(attempts.length, 1)
  })
  it('a name under .localhost is refused whatever DNS says', async () => {
    const names = { localhost: ['93.184.215.14'], 'a.localhost.': ['93.184.215.14'] }
    const { sender, attempts } = senderOf(line({ resolve: names }))
    for (const host of ['localhost', 'a.localhost.']) {
      await assert.rejects(sender.check(`https://${host}/`), failsWith('address-refused'))
    }
    assert.equal(attempts.length, 0)
  })
  it('the words say what is wrong with the text and nothing of what was found', async () => {
    const inside = { 'in.example.com': ['10.0.0.1'] }
    const { sender } = senderOf(line({ resolve: inside }))
    const words = {
      '//example.com/in': 'not-a-url',
      'http://example.com/in': 'not-https',
      'https://me:secret@example.com/in': 'credentials-in-url',
      'https://in.example.com/': 'address-refused',
      'https://nowhere.example.com/': 'address-refused',
    }
    for (const [text, word] of Object.entries(words)) {
      await assert.rejects(sender.check(text), failsWith(word), text)
    }
  })
  it('a look-up that never ends uses up the time of the call', async () => {
    const sender = createNodeHttpSender({
      resolve: () => new Promise(() => {}),
      connect: () => assert.fail('nothing to connect to'),
    })
    const call = sender.send({ ...request, timeoutMs: 20 })
    await assert.rejects(call, failsWith('timeout'))
  })
  it('an origin that is allowed is resolved and may lead inside; its port counts', async () => {
    const attempts: Exchange[] = []
    const sender = createNodeHttpSender({
      allowOrigins: ['http://inner.test:9000'],
      resolve: async () => ['127.0.0.1'],
      connect: async exchange => {
        attempts.push(exchange)
        return { status: 200, headers: {} }
      },
    })
    await sender.send({ ...request, url: 'http://inner.test:9000/x' })
    assert.deepEqual(attempts[0]?.addresses, ['127.0.0.1'])
    await assert.rejects(sender.check('http://inner.test:9001/'), failsWith('not-https'))
    await assert.rejects(sender.check('https://inner.test:9000/'), failsWith('address-refused'))
  })
})
