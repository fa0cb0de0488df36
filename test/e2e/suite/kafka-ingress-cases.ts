/** Producers on Kafka: plain clients that know nothing of Ambit but the CloudEvents binding. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import { CloudEvent, Kafka as CloudEventsKafka } from 'cloudevents'
import { type IHeaders, Kafka, logLevel, type Message, type Producer } from 'kafkajs'
import type { Page } from '#services/client/api.ts'
import type { DeadLetter } from '#services/client/api-history.ts'
import { type Api, eventually } from '#test/support/api-caller.ts'
import { liveInfra } from '#test/support/live-infra.ts'
import { createScene, type GetWorld } from './scene.ts'

type Send = (message: Message) => Promise<void>

/** The schema of the CloudEvents Avro format 1.0.2, as published, less the documentation. */
const EVENT_SCHEMA = {
  namespace: 'io.cloudevents',
  type: 'record',
  name: 'AvroCloudEvent',
  fields: [
    {
      name: 'attribute',
      type: { type: 'map', values: ['null', 'boolean', 'int', 'string', 'bytes'] },
    },
    {
      name: 'data',
      type: [
        'bytes',
        'null',
        'boolean',
        {
          type: 'map',
          values: [
            'null',
            'boolean',
            {
              type: 'record',
              name: 'AvroCloudEventData',
              fields: [
                {
                  name: 'value',
                  type: {
                    type: 'map',
                    values: [
                      'null',
                      'boolean',
                      { type: 'map', values: 'AvroCloudEventData' },
                      { type: 'array', items: 'AvroCloudEventData' },
                      'double',
                      'string',
                    ],
                  },
                },
              ],
            },
            'double',
            'string',
          ],
        },
        { type: 'array', items: 'AvroCloudEventData' },
        'double',
        'string',
      ],
    },
  ],
} as const

export function kafkaIngressCases(world: GetWorld): void {
  describe('producers on Kafka', () => {
    let producer: Producer | undefined
    before(async () => {
      const brokers = liveInfra().AMBIT_KAFKA_BROKERS.split(',')
      producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer()
      await producer.connect()
    })
    after(() => producer?.disconnect())
    const send: Send = async message => {
      const topic = `${world().host.topicPrefix}ingress.ext.local`
      await producer?.send({ topic, messages: [message] })
    }
    jsonCases(world, send)
    avroCases(world, send)
    refusalCases(world, send)
  })
}

/** The attributes of an event as headers of binary mode. */
function binary(source: string, id: string, more: IHeaders = {}): IHeaders {
  return {
    ...{ ce_specversion: '1.0', ce_id: id, ce_source: source, ce_type: 'ext.happened' },
    ...more,
  }
}

function jsonCases(world: GetWorld, send: Send): void {
  it('structured and binary JSON come out as they went in', async () => {
    const s = createScene(world().api, 'kafka-json')
    await s.subscribe()
    const event = { specversion: '1.0', id: 'a', source: s.source, type: 'ext.happened' }
    const data = { n: 1, text: 'ñ €' }
    await send({
      key: 'their-key',
      value: JSON.stringify({ ...event, data, count: 7 }),
      headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
    })
    await send({
      value: JSON.stringify(data),
      headers: binary(s.source, 'b', { 'content-type': 'application/json', ce_subject: 'Ñandú' }),
    })
    const seen = new Map<string, Record<string, unknown>>()
    for (const _ of ['a', 'b']) {
      const item = await s.take()
      const [first] = item.message.events
      assert.ok(first)
      seen.set(first.id, first)
      await s.api.complete(item)
    }
    assert.deepEqual([seen.get('a')?.data, seen.get('a')?.count], [data, 7])
    assert.deepEqual([seen.get('b')?.data, seen.get('b')?.subject], [data, 'Ñandú'])
  })

  it('what the CloudEvents SDK sends is taken in both modes', async () => {
    const s = createScene(world().api, 'kafka-sdk')
    const subscription = await s.subscribe()
    for (const mode of ['binary', 'structured'] as const) {
      const id = `sdk-${mode}`
      const event = new CloudEvent({
        ...{ id, source: s.source, type: 'ext.happened', datacontenttype: 'application/json' },
        data: JSON.stringify({ mode }),
      })
      const { headers, value } = CloudEventsKafka[mode](event)
      // The SDK names attributes that the event lacks, which kafkajs cannot write.
      const given = Object.entries(headers).filter(([, text]) => text !== undefined)
      await send({ headers: Object.fromEntries(given) as IHeaders, value: value as string })
      assert.equal((await s.api.decision(subscription.id, id)).fate, 'delivered')
    }
  })

  it('dedupkey and repeats work as over HTTP, across both doors', async () => {
    const s = createScene(world().api, 'kafka-dedup')
    const subscription = await s.subscribe()
    const value = '{}'
    const headers = binary(s.source, 'same', { 'content-type': 'application/json' })
    await send({ headers, value })
    await send({ headers, value })
    await s.send({ id: 'same' })
    await eventually('two repeats', async () => {
      const found = await s.api.decision(subscription.id, 'same')
      return found.repeats === 2 ? found : `saw ${found.repeats}`
    })
    assert.equal((await s.api.messages(s.agent)).length, 1)
  })
}

function avroCases(world: GetWorld, send: Send): void {
  it('structured Avro is read', async () => {
    const s = createScene(world().api, 'kafka-avro')
    await s.subscribe()
    const type = avro.Type.forSchema(EVENT_SCHEMA as unknown as avro.Schema, {
      wrapUnions: 'always',
    })
    const attribute = {
      ...{ specversion: { string: '1.0' }, id: { string: 'avro-1' }, source: { string: s.source } },
      ...{ type: { string: 'ext.happened' }, count: { int: 5 }, urgent: { boolean: true } },
    }
    const data = { map: { text: { string: 'hola' }, total: { double: 7.5 } } }
    const value = type.toBuffer({ attribute, data })
    await send({ value, headers: { 'content-type': 'application/cloudevents+avro' } })
    const [event] = (await s.take()).message.events
    assert.deepEqual([event?.id, event?.count, event?.urgent], ['avro-1', 5, true])
    assert.deepEqual(event?.data, { text: 'hola', total: 7.5 })
  })

  it('binary Avro in the Confluent wire format is read by the schema of the registry', async () => {
    const s = createScene(world().api, 'kafka-confluent')
    await s.subscribe(undefined, { filters: [{ cel: 'data.total > 100.0' }] })
    const registry = new SchemaRegistry({ host: liveInfra().AMBIT_SCHEMA_REGISTRY_URL })
    const name = `Order${randomUUID().slice(0, 8)}`
    const fields = [
      { name: 'customer', type: 'string' },
      { name: 'total', type: 'double' },
    ]
    const schema = JSON.stringify({ type: 'record', name, namespace: 'shop', fields })
    const { id } = await registry.register(
      { type: SchemaType.AVRO, schema },
      { subject: `e2e-${name}` },
    )
    const data = { customer: 'ana', total: 250.5 }
    const value = await registry.encode(id, data)
    const headers = binary(s.source, 'conf-1', { 'content-type': 'application/avro' })
    await send({ value, headers })
    const [event] = (await s.take()).message.events
    assert.deepEqual([event?.data, event?.datacontenttype], [data, 'application/json'])
  })
}

function refusalCases(world: GetWorld, send: Send): void {
  it('what is refused is dead, with its reason, and holds nobody up', async () => {
    const s = createScene(world().api, 'kafka-refused')
    const subscription = await s.subscribe()
    const json = { 'content-type': 'application/json' }
    const structured = { 'content-type': 'application/cloudevents+json' }
    const refused: [string, Message][] = [
      [
        'reserved-attribute',
        { value: '{}', headers: binary(s.source, '1', { ...json, ce_tenant: 'x' }) },
      ],
      [
        'reserved-attribute',
        { value: '{}', headers: binary(s.source, '2', { ...json, ce_lineage: 'x' }) },
      ],
      [
        'reserved-attribute',
        { value: '{}', headers: binary(s.source, '3', { ...json, ce_type: 'time.once' }) },
      ],
      ['bad-event', { value: '{}', headers: { ...binary(s.source, '4', json), ce_id: '' } }],
      ['bad-event', { value: '{"hello":"world"}', headers: {} }],
      ['bad-json', { value: '{"specversion":', headers: structured }],
      ['bad-event', { value: null, headers: {} }],
      [
        'bad-event',
        {
          value: Buffer.from([0, 255]),
          headers: { 'content-type': 'application/cloudevents+avro' },
        },
      ],
      [
        'bad-event',
        {
          value: Buffer.from('no wire format'),
          headers: binary(s.source, '9', { 'content-type': 'application/avro' }),
        },
      ],
    ]
    const before = await letters(s.api)
    for (const [, message] of refused) await send(message)
    for (let n = 0; n < 8; n += 1) {
      await send({ value: '{}', headers: binary(s.source, `good-${n}`, json), key: `${n}` })
    }
    for (let n = 0; n < 8; n += 1) {
      assert.equal((await s.api.decision(subscription.id, `good-${n}`)).fate, 'delivered')
    }
    const dead = await eventually('the dead letters', async () => {
      const found = (await letters(s.api)).filter(each => !before.some(b => b.id === each.id))
      return found.length >= refused.length ? found : `${found.length} of ${refused.length}`
    })
    const codes = dead.map(({ code }) => code).sort()
    assert.deepEqual(codes, refused.map(([code]) => code).sort())
    for (const { topic, reason, at } of dead) {
      assert.equal(topic, 'ingress.ext.local')
      assert.ok(reason.length > 10 && !Number.isNaN(Date.parse(at)))
    }
    await redrives(s.api, dead[0]!)
  })
}

const letters = async (api: Api) =>
  (await api.ok<Page<DeadLetter>>('GET', '/v1/deadletter?limit=200')).items

/** A record that is still wrong comes back as another letter. */
async function redrives(api: Api, letter: DeadLetter): Promise<void> {
  const count = (await letters(api)).length
  const answer = await api.call('POST', `/v1/deadletter/${letter.id}/redrive`)
  assert.equal(answer.status, 202, answer.text)
  assert.ok(answer.json.redrivenAt)
  await eventually('the letter once more', async () => {
    const found = await letters(api)
    return found.length === count + 1 ? found : `${found.length} letters`
  })
}
