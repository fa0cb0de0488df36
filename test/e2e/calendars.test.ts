/** Calendars over HTTP against the whole product in this process: uploads, objects, feeds. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readConfiguration } from '#kernel/host/configuration.ts'
import { type Started, startProcess } from '#kernel/host/run-process.ts'
import { startAllServices } from '#services/embedded/all-services.ts'
import { type Api, createApi } from '#test/support/api-caller.ts'
import { type ScriptedServer, scriptedServer } from '#test/support/scripted-server.ts'

const ICS = { 'content-type': 'text/calendar; charset=utf-8' }

/** A calendar of events; `|` separates lines. */
const ics = (...events: string[]) =>
  ['BEGIN:VCALENDAR', ...events.map(lines => `BEGIN:VEVENT|${lines}|END:VEVENT`), 'END:VCALENDAR|']
    .join('|')
    .replaceAll('|', '\r\n')

const meeting = (uid: string, hour: string, more = '') =>
  `UID:${uid}|DTSTART;TZID=Europe/Madrid:20300715T${hour}0000|DURATION:PT1H|SUMMARY:${uid}${more}`

let folder: string
let host: Started
let api: Api
let feeds: ScriptedServer
let feedText = ''

const start = async () => {
  host = await startProcess(
    readConfiguration({
      ...{ AMBIT_DATA_DIR: folder, AMBIT_PORT: '0', AMBIT_LOG_LEVEL: 'silent' },
      AMBIT_OUTGOING_ALLOW: feeds.url,
    }),
    startAllServices,
  )
  api = createApi(host.url, host.platform.adminKey ?? '')
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-calendars-'))
  feeds = await scriptedServer(({ path }) => {
    if (path === '/moved.ics') return { status: 302, headers: { location: '/team.ics' } }
    return response => {
      response.writeHead(200, { etag: '"v1"', 'content-encoding': 'gzip' })
      response.end(gzipSync(feedText))
    }
  })
  await start()
})
after(async () => {
  await host.stop()
  await feeds.close()
  rmSync(folder, { recursive: true, force: true })
})

const put = (name: string, body: string) =>
  api.call('PUT', `/v1/calendars/${name}`, { body, headers: ICS })
const counts = (answer: { json: Record<string, number> }) => {
  const { objects, changed, removed } = answer.json
  return [objects, changed, removed]
}

describe('an uploaded calendar', () => {
  it('answers what it has, what changed and what went', async () => {
    const first = await put('team', ics(meeting('a', '09'), meeting('b', '10')))
    assert.equal(first.status, 200, first.text)
    assert.deepEqual(counts(first), [2, 2, 0])
    assert.deepEqual(
      counts(await put('team', ics(meeting('a', '09'), meeting('b', '10')))),
      [2, 0, 0],
    )
    assert.deepEqual(
      counts(await put('team', ics(meeting('a', '11'), meeting('c', '10')))),
      [2, 2, 1],
    )
  })
  it('shows its objects and their instances', async () => {
    const shown = await api.ok<{ items: { uid: string; startsAt: string }[] }>(
      'GET',
      '/v1/calendars/team/objects',
    )
    assert.deepEqual(
      shown.items.map(({ uid, startsAt }) => `${uid} ${startsAt}`),
      ['a 2030-07-15T09:00:00.000Z', 'c 2030-07-15T08:00:00.000Z'],
    )
    const window = 'from=2030-07-15T00:00:00Z&to=2030-07-16T00:00:00Z'
    const { items } = await api.ok<{ items: { uid: string; start: string }[] }>(
      'GET',
      `/v1/calendars/team/objects?${window}`,
    )
    assert.deepEqual(
      items.map(({ uid }) => uid),
      ['c', 'a'],
    )
    const calendar = await api.ok<Record<string, unknown>>('GET', '/v1/calendars/team')
    assert.deepEqual([calendar.kind, calendar.objects, calendar.owner], ['local', 2, 'user:admin'])
  })
  it('what cannot be read keeps what is stored and is named', async () => {
    const answer = await put('team', ics(meeting('a', '11'), 'UID:c|DTSTART:never'))
    assert.deepEqual(counts(answer), [2, 0, 0])
    assert.deepEqual(answer.json.skipped, [{ uid: 'c', reason: 'bad-time' }])
  })
  it('a file that is cut off, too large or something else changes nothing', async () => {
    const whole = ics(meeting('z', '09'))
    assert.equal((await put('team', whole.slice(0, -16))).status, 400)
    assert.equal((await put('team', 'hello')).status, 400)
    assert.equal((await put('team', whole + 'x'.repeat(1024 * 1024))).status, 413)
    const typed = await api.call('PUT', '/v1/calendars/team', {
      body: whole,
      headers: { 'content-type': 'text/html' },
    })
    assert.equal(typed.status, 415)
    assert.equal((await put('no%2Fslash', whole)).status, 400)
    assert.equal((await api.ok<{ objects: number }>('GET', '/v1/calendars/team')).objects, 2)
  })
})

describe('the object API', () => {
  const path = (uid: string) => `/v1/calendars/team/objects/${encodeURIComponent(uid)}`
  it('puts, moves, shows and deletes one object, whatever its UID looks like', async () => {
    const uid = `040000008200E00074C5B7101A82E008${'0'.repeat(120)}/a@b`
    const body = { start: '2030-08-01T09:00:00', tzid: 'Asia/Tokyo', summary: 'Ö' }
    const first = await api.call('PUT', path(uid), { body })
    assert.equal(first.status, 200, first.text)
    assert.deepEqual(counts(first), [3, 1, 0])
    const moved = { ...body, start: '2030-08-01T10:00:00' }
    assert.deepEqual(counts(await api.call('PUT', path(uid), { body: moved })), [3, 1, 0])
    const shown = await api.ok<Record<string, unknown>>('GET', path(uid))
    assert.deepEqual([shown.startsAt, shown.summary], ['2030-08-01T01:00:00.000Z', 'Ö'])
    assert.deepEqual(counts(await api.call('DELETE', path(uid))), [2, 0, 1])
    assert.equal((await api.call('GET', path(uid))).status, 404)
    assert.equal((await api.call('DELETE', path(uid))).status, 404)
  })
  it('makes the calendar where there is none', async () => {
    await api.ok('PUT', '/v1/calendars/new/objects/x', { start: '2030-08-01' })
    const { items } = await api.ok<{ items: { name: string }[] }>('GET', '/v1/calendars')
    assert.deepEqual(
      items.map(({ name }) => name),
      ['new', 'team'],
    )
  })
  it('says what does not fit', async () => {
    const answer = await api.call('PUT', path('x'), { body: { start: 'soon' } })
    assert.deepEqual([answer.status, answer.json.pointer], [422, '/start'])
  })
  it('needs a key that may write calendars', async () => {
    const principal = { kind: 'person', id: 'user:eve' }
    const viewer = await api.ok<{ key: string }>('POST', '/v1/keys', {
      principal,
      roles: ['viewer'],
    })
    const eve = api.as(viewer.key)
    assert.equal((await eve.call('PUT', path('x'), { body: { start: '2030-08-01' } })).status, 403)
    assert.equal((await eve.call('GET', '/v1/calendars/team')).status, 200)
    assert.equal((await api.as('').call('GET', '/v1/calendars/team')).status, 401)
  })
})

describe('a feed', () => {
  const body = () => ({ url: `${feeds.url}/team.ics?secret=s3cr3t`, everyMs: 60_000 })
  it('is fetched at once, and its address is shown to nobody', async () => {
    feedText = ics(meeting('f', '09'), meeting('g', '10'))
    const answer = await api.call('PUT', '/v1/calendars/feed', { body: body() })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(counts(answer), [2, 2, 0])
    const shown = await api.call('GET', '/v1/calendars/feed')
    assert.deepEqual([shown.json.kind, shown.json.origin], ['feed', feeds.url])
    assert.equal(shown.json.feed.failures, 0)
    const audit = await api.call('GET', '/v1/audit')
    assert.ok(!(shown.text + audit.text).includes('s3cr3t'))
  })
  it('is not to be edited here', async () => {
    const path = '/v1/calendars/feed/objects/f'
    assert.equal((await api.call('PUT', path, { body: { start: '2030-08-01' } })).status, 409)
    assert.equal((await api.call('DELETE', path)).status, 409)
  })
  it('an address that leads inside, moves on or gives no calendar stores nothing', async () => {
    for (const [url, word] of [
      ['https://127.0.0.1/x.ics', 'address-refused'],
      ['webcal://169.254.169.254/x', 'address-refused'],
      ['http://93.184.215.14/x.ics', 'not-https'],
      ['file:///etc/passwd', 'not-https'],
      ['env:AMBIT_API_KEY', 'not-https'],
      [`${feeds.url}/moved.ics`, 'redirected'],
    ]) {
      const answer = await api.call('PUT', '/v1/calendars/bad', { body: { url } })
      assert.deepEqual([answer.status, answer.json.actual], [422, word], answer.text)
    }
    feedText = '<html>sign in</html>'
    const answer = await api.call('PUT', '/v1/calendars/bad', { body: body() })
    assert.deepEqual([answer.status, answer.json.actual], [422, 'not-a-calendar'])
    assert.equal((await api.call('GET', '/v1/calendars/bad')).status, 404)
  })
})

describe('an anchor', () => {
  it('follows the meeting that it is tied to', async () => {
    await api.ok('PUT', '/v1/agents/reminder', {})
    const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
      ...{ name: 'remind', agent: 'reminder', instruction: 'Remind.' },
      schedule: { anchor: { calendar: 'team', uid: 'a', offsetMs: -1_800_000 } },
    })
    const next = async () => {
      const { next: coming } = await api.ok<{ next: unknown }>('GET', `/v1/subscriptions/${id}`)
      return JSON.stringify(coming)
    }
    assert.match(await next(), /2030-07-15T08:30:00/)
    await put('team', ics(meeting('a', '15'), meeting('c', '10')))
    assert.match(await next(), /2030-07-15T12:30:00/)
  })
})

describe('a restart', () => {
  it('keeps calendars, objects and what a feed knows; a deleted calendar stays away', async () => {
    await api.ok('DELETE', '/v1/calendars/new')
    await host.stop()
    await start()
    assert.equal((await api.ok<{ objects: number }>('GET', '/v1/calendars/team')).objects, 2)
    const feed = await api.call('GET', '/v1/calendars/feed')
    assert.equal(feed.json.objects, 2)
    assert.notEqual(feed.json.feed.lastOkAt, null)
    assert.equal((await api.call('GET', '/v1/calendars/new')).status, 404)
  })
})
