/** The seven rules of conversations that do not block, one by one. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ModelFailure } from '#kernel/ports/chat-model.ts'
import { scriptedModel } from '#test/support/agent-world.ts'
import { chatWorld } from '#test/support/chat-world.ts'
import { outcomeLine } from './closing-text.ts'
import type { HttpRequest } from './http-call.ts'
import { pendingSystemMessages, pendingUpdatesBySession } from './pending-updates.ts'

const ONE = 'Dale acceso a ana@example.com a Notion con rol editor'
const FIVE =
  'Dame acceso a soporte@example.com con rol admin en Notion, GitHub, Jira, Figma y Slack'

/** Work that the agent has accepted and said so; its requests wait for an answer. */
async function withAccepted(text: string) {
  const chat = chatWorld()
  chat.say(text)
  await chat.work()
  return chat
}

/** One access that is asked for; whoever claimed the turn has done nothing yet. */
async function withClaimedTurn() {
  const chat = chatWorld()
  chat.say(ONE)
  await chat.clock.advance(1)
  const [turn] = chat.queue.splice(0)
  assert.ok(turn)
  return { chat, turn }
}

/** Is it the request for access to that application? */
const isFor = (name: string) => (request: HttpRequest) =>
  (request.json as { application: string }).application === name

describe('rule 1: the visible chat holds user and assistant messages only', () => {
  it('also while work is accepted, done and closed', async () => {
    const chat = await withAccepted(ONE)
    await chat.answer(200)
    await chat.work()
    assert.deepEqual(chat.visible(), [
      { role: 'user', text: ONE },
      {
        role: 'assistant',
        text: "Activo el acceso de ana@example.com a Notion con rol 'editor'. Te aviso al cerrar.",
      },
      {
        role: 'assistant',
        text: "Listo: el acceso de ana@example.com a Notion con rol 'editor' ya está activo.",
      },
    ])
  })
})

describe('rule 2: technical operations live outside the visible thread', () => {
  it('the acceptance is said before the request has ended, and states move meanwhile', async () => {
    const chat = await withAccepted(ONE)
    assert.match(chat.said().at(-1) ?? '', /Te aviso al cerrar/)
    assert.equal(chat.calls.length, 1)
    assert.deepEqual(chat.states(), ['running'])
    assert.equal(chat.summary(), 'waiting')
    const before = chat.visible().length
    await chat.answer('unavailable')
    assert.deepEqual(chat.states(), ['retrying'])
    await chat.clock.advance(500)
    assert.deepEqual(chat.states(), ['running'])
    assert.equal(chat.visible().length, before)
  })

  it('another question can be asked meanwhile', async () => {
    const chat = await withAccepted(FIVE)
    chat.say('Que es un webhook?')
    chat.say('Como van las operaciones?')
    await chat.work()
    assert.match(chat.said().at(-2) ?? '', /^Un webhook es/)
    assert.match(chat.said().at(-1) ?? '', /Notion[\s\S]*running/)
    assert.equal(chat.calls.length, 5)
  })
})

describe('rule 3: finished results gather in pendingUpdatesBySession', () => {
  it('and pendingSystemMessages is the same for snapshots', async () => {
    const chat = await withAccepted(FIVE)
    await chat.answer(200, each => !isFor('Jira')(each))
    const all = [...chat.operations.all.values()]
    assert.equal(pendingUpdatesBySession(all).get('s1')?.length, 4)
    assert.equal(chat.summary(), 'aggregating')
    const lines = pendingSystemMessages(all, each => outcomeLine(each, chat.registry.find))
    assert.equal(lines.length, 4)
    assert.ok(
      lines.every(({ role, content }) => role === 'system' && /ya está activo/.test(content)),
    )
  })
})

describe('rule 4: one tool batch may open several operations and closes once', () => {
  it('five accesses are five requests with keys of their own, and one closing', async () => {
    const chat = await withAccepted(FIVE)
    assert.equal(new Set(chat.calls.map(({ headers }) => headers['idempotency-key'])).size, 5)
    const callIds = [...chat.operations.all.values()].map(({ callId }) => callId)
    assert.equal(new Set(callIds).size, 5)
    for (const name of ['Slack', 'Jira', 'Notion', 'Figma', 'GitHub']) {
      await chat.answer(200, isFor(name))
      await chat.work()
    }
    const closings = chat.said().filter(text => text.startsWith('Listo:'))
    assert.equal(closings.length, 1)
    assert.equal(closings[0]?.split('\n').length, 6)
    assert.equal(chat.queue.length, 0)
  })

  it('a failed item enters the same closing', async () => {
    const chat = await withAccepted(FIVE)
    await chat.answer(422, isFor('Jira'))
    await chat.answer(200)
    await chat.work()
    const closing = chat.said().at(-1) ?? ''
    assert.match(closing, /a Notion[\s\S]*no he podido activar el acceso de \S+ a Jira/)
    assert.equal(chat.states().filter(state => state === 'failed').length, 1)
    assert.equal(chat.states().filter(state => state === 'proactively_notified').length, 4)
  })
})

describe('rule 5: a session that is free when the batch drains gets one follow-up', () => {
  it('which a second asking, or a restart, does not double', async () => {
    const chat = await withAccepted(ONE)
    await chat.answer(201)
    assert.equal(chat.summary(), 'queued_final')
    await chat.restart()
    await chat.work()
    assert.equal(chat.summary(), 'proactive')
    assert.deepEqual(chat.states(), ['proactively_notified'])
    await chat.restart()
    await chat.work()
    assert.equal(chat.said().filter(text => text.startsWith('Listo')).length, 1)
  })
})

describe('rule 6: a busy session hands the closing to its next turn', () => {
  it('as context of that turn alone, and the follow-up finds nothing left', async () => {
    const chat = await withAccepted(ONE)
    // The batch drains while a turn is waiting: the person was quicker than the follow-up.
    await chat.answer(200)
    chat.say('Que es un webhook?')
    await chat.work()
    const answer = chat.said().at(-1) ?? ''
    assert.match(answer, /^Un webhook es[\s\S]*Mientras tanto:[\s\S]*ya está activo/)
    assert.deepEqual(chat.states(), ['consumed_next_turn'])
    assert.equal(chat.summary(), 'next_turn')
    const followUp = chat.results.find(({ kind }) => kind === 'follow-up')
    assert.partialDeepStrictEqual(followUp?.result, { ok: true, iterations: 0 })
    assert.equal(followUp?.result?.output, undefined)
    assert.ok(chat.visible().every(({ text }) => !text.includes('<operations-ended>')))
  })

  it('loses no result when that turn is tried again, nor when the model stays away', async () => {
    const { clock, ...chat } = chatWorld({ model: scriptedModel(new ModelFailure('away')) })
    const other = await withAccepted(ONE)
    await other.answer(200)
    for (const [id, operation] of other.operations.all) {
      chat.operations.all.set(id, { ...operation, batch: 'another turn' })
    }
    chat.say('Que es un webhook?')
    const [turn] = chat.queue.splice(0)
    assert.ok(turn)
    assert.ok((await chat.workOne(turn, 1)).error)
    assert.equal(chat.said().length, 0)
    assert.ok((await chat.workOne(turn, 3)).error)
    assert.match(chat.said().at(-1) ?? '', /ya está activo/)
  })
})

/** One access whose result waits while the person speaks again. */
async function withWaitingResult(second: string) {
  const chat = await withAccepted(ONE)
  await chat.answer(200)
  chat.say(second)
  return chat
}

describe('results are told once, with the words that tell them', () => {
  it('also by a turn that ends with an acceptance and no words of a model', async () => {
    const chat = await withWaitingResult('Dale acceso a bruno@example.com a GitHub con rol admin')
    await chat.work()
    assert.match(chat.said().at(-1) ?? '', /Te aviso al cerrar\.\n\nListo: .*ana@example.com/)
    await chat.answer(200)
    await chat.work()
    assert.equal(chat.said().filter(text => /ana\S+ a Notion .*ya está/.test(text)).length, 1)
  })

  it('a crash between the words and the marks repeats neither', async () => {
    const chat = await withWaitingResult('Que es un webhook?')
    const { change } = chat.operations
    chat.operations.change = async () => {
      throw new Error('crashed')
    }
    const [, turn] = chat.queue.splice(0)
    assert.ok(turn)
    assert.ok((await chat.workOne(turn)).error)
    chat.operations.change = change
    assert.deepEqual(chat.states(), ['queued_for_sync'])
    assert.equal((await chat.workOne(turn, 2)).result?.ok, true)
    assert.deepEqual(chat.states(), ['consumed_next_turn'])
    assert.equal(chat.said().filter(text => /ya está activo/.test(text)).length, 1)
  })

  it('a closing does not leave them to a waiting turn that has ended with words', async () => {
    const { chat, turn } = await withClaimedTurn()
    await chat.workOne(turn)
    await chat.clock.advance(1)
    await chat.answer(200)
    chat.queue.push(turn)
    await chat.work()
    assert.match(chat.said().at(-1) ?? '', /^Listo/)
  })

  it('a turn that is tried again asks anew for the closing that came too early', async () => {
    const { chat, turn } = await withClaimedTurn()
    // The history is away once the work is accepted; the work itself goes on and ends.
    chat.store.crashAfter = chat.store.writes + 2
    assert.ok((await chat.workOne(turn)).error)
    chat.store.crashAfter = Number.POSITIVE_INFINITY
    await chat.clock.advance(1)
    await chat.answer(200)
    const [early] = chat.queue.splice(0)
    assert.ok(early)
    chat.queue.push(turn)
    assert.equal((await chat.workOne(early)).result?.output, undefined)
    chat.queue.splice(0)
    assert.equal((await chat.workOne(turn, 2)).result?.ok, true)
    await chat.work()
    assert.deepEqual(
      chat.said().map(text => text.slice(0, 5)),
      ['Activ', 'Listo'],
    )
  })
})

describe('what is away for a while loses nothing', () => {
  it('a turn that had told them aside is still answered when the model is back', async () => {
    const chat = await withWaitingResult('Que es un webhook?')
    const mock = chat.executor.model
    chat.executor.model = scriptedModel(new ModelFailure('away'))
    const [, turn] = chat.queue.splice(0)
    assert.ok(turn)
    assert.ok((await chat.workOne(turn, 3)).error)
    assert.match(chat.said().at(-1) ?? '', /ya está activo/)
    chat.executor.model = mock
    assert.equal((await chat.workOne(turn, 4)).result?.ok, true)
    assert.match(chat.said().at(-1) ?? '', /^Un webhook es/)
  })

  it('a write that fails leaves no operation behind', async () => {
    const chat = chatWorld()
    const { change } = chat.operations
    chat.operations.change = async () => {
      chat.operations.change = change
      throw new Error('the log is away')
    }
    chat.onRunnerError.ignore = true
    chat.say(ONE)
    await chat.work()
    await chat.clock.advance(1000)
    await chat.answer(200)
    await chat.work()
    assert.deepEqual(chat.states(), ['proactively_notified'])
  })
})

describe('rule 7: successful closings are fixed text, and the model recovers from failures', () => {
  it('a model that would fail is not asked about successes', async () => {
    const chat = await withAccepted(ONE)
    chat.executor.model = scriptedModel(new ModelFailure('away'))
    await chat.answer(200)
    await chat.work()
    assert.match(chat.said().at(-1) ?? '', /^Listo: /)
  })

  it('it is handed what failed, in fixed words, and what it says is the closing', async () => {
    const chat = await withAccepted(ONE)
    const model = scriptedModel({ text: 'Notion no responde; lo intento mañana.' })
    chat.executor.model = model
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await chat.answer('timed-out')
      await chat.clock.advance(5000)
    }
    await chat.work()
    assert.equal(chat.said().at(-1), 'Notion no responde; lo intento mañana.')
    const handed = model.requests[0]?.items.at(-1)?.text ?? ''
    assert.match(handed, /<operations-failed>[\s\S]*el servicio no ha respondido a tiempo/)
    assert.deepEqual(chat.states(), ['failed'])
    assert.equal(chat.summary(), 'proactive')
  })

  it('told without it when it stays away, after three attempts', async () => {
    const chat = await withAccepted(ONE)
    await chat.answer(403)
    chat.executor.model = scriptedModel(new ModelFailure('away'))
    const [followUp] = chat.queue.splice(0)
    assert.ok(followUp)
    for (const attempt of [1, 2, 3]) assert.ok((await chat.workOne(followUp, attempt)).error)
    assert.equal((await chat.workOne(followUp, 4)).result?.ok, true)
    assert.match(chat.said().at(-1) ?? '', /no he podido activar/)
  })
})

describe('operations are durable', () => {
  it('a restart in the middle loses none and sends each under its first key', async () => {
    const chat = await withAccepted(FIVE)
    const keys = chat.calls.map(({ headers }) => headers['idempotency-key']).toSorted()
    await chat.answer(200, isFor('Jira'))
    await chat.restart()
    assert.equal(chat.calls.length, 4)
    assert.ok(chat.calls.every(({ headers }) => keys.includes(headers['idempotency-key'])))
    await chat.answer(200)
    await chat.work()
    assert.equal(chat.said().filter(text => text.startsWith('Listo')).length, 1)
    assert.ok([...chat.operations.all.values()].every(({ attempts }) => attempts === 1))
  })

  it('a turn that is tried again after its answer leaves its results to the closing', async () => {
    const { chat, turn } = await withClaimedTurn()
    await chat.workOne(turn)
    await chat.clock.advance(1)
    await chat.answer(200)
    assert.equal((await chat.workOne(turn, 2)).result?.ok, true)
    await chat.work()
    assert.deepEqual(chat.states(), ['proactively_notified'])
    assert.match(chat.said().at(-1) ?? '', /^Listo/)
  })

  it('missing arguments are asked for, and nothing is requested', async () => {
    const chat = chatWorld()
    chat.say('Dale acceso a ana@example.com a Notion')
    await chat.work()
    assert.equal(chat.said().at(-1), 'Para dar el acceso necesito el rol.')
    assert.equal(chat.calls.length, 0)
    assert.equal(chat.operations.all.size, 0)
  })

  it('retries double their pause and end; a refusal is not tried again', async () => {
    const chat = chatWorld()
    chat.say("Crea un ticket 'VPN' con prioridad alta")
    await chat.work()
    await chat.answer(503)
    await chat.clock.advance(500)
    await chat.answer(503)
    assert.deepEqual(chat.states(), ['failed'])
    assert.equal(chat.calls.length, 0)
  })
})
