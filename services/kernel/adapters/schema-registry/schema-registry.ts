/** A schema registry with Confluent's API (Confluent, Apicurio, Karapace). */
import { setTimeout as sleep } from 'node:timers/promises'
import registryDriver from '@kafkajs/confluent-schema-registry'
import type { SchemaRegistry } from '#schemas/codec.ts'
import type { SchemaJson } from '#schemas/record-conversion.ts'
import { AmbitError } from '../../errors.ts'

/** Where the registry is. */
export interface SchemaRegistrySettings {
  /** Base URL; Apicurio's ends in `/apis/ccompat/v7`. */
  url: string
  auth?: { username: string; password: string }
}

const { SchemaRegistry: Client, SchemaType, COMPATIBILITY } = registryDriver

const TIMEOUT_MS = 5000
const ATTEMPTS = 5
/** The driver's words for a subject that is set to something else than BACKWARD. */
const MISMATCH = /not match the configuration/
const RACE_MS = 50

/**
 * A client of the registry. A new subject is set to BACKWARD compatibility, so that a reader may
 * be updated before its writers.
 *
 * `register` rejects with `conflict` when the registry refuses the schema (409), and every call
 * with `log-unavailable` when the registry does not answer.
 */
export function createSchemaRegistry(settings: SchemaRegistrySettings): SchemaRegistry {
  const { url, auth } = settings
  const client = new Client({ host: url, ...(auth ? { auth } : {}), retry: { retries: 3 } })
  return {
    async register(subject, schema) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const { id } = await client.register(
            { type: SchemaType.AVRO, schema: JSON.stringify(schema) },
            { subject, compatibility: COMPATIBILITY.BACKWARD },
          )
          return id
        } catch (cause) {
          if (!isRace(cause) || attempt >= ATTEMPTS) throw refusalOf(subject, cause)
          await sleep(RACE_MS * attempt)
        }
      }
    },
    async schemaOf(id) {
      const response = await fetch(`${url}/schemas/ids/${id}`, {
        headers: auth ? { authorization: basic(auth) } : {},
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).catch((cause: unknown) => {
        throw away(cause)
      })
      if (response.status === 404) throw unknownId(id)
      if (!response.ok) throw away(`status ${response.status}`)
      const { schema } = (await response.json()) as { schema: string }
      return JSON.parse(schema) as SchemaJson
    },
  }
}

/** Services that start together set the same new subject up; Apicurio refuses the second. */
function isRace(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  return MISMATCH.test(cause.message) || ('url' in cause && String(cause.url).includes('/config/'))
}

function basic({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function refusalOf(subject: string, cause: unknown): AmbitError {
  const status = cause instanceof Error && 'status' in cause ? cause.status : undefined
  const isRefused = status === 409 || (cause instanceof Error && MISMATCH.test(cause.message))
  if (!isRefused) return away(cause)
  return new AmbitError(
    'conflict',
    `Expected ${subject} to accept a backward compatible schema, got a refusal. ` +
      'Give new fields a default and keep old ones.',
    { expected: 'BACKWARD compatibility', actual: 'refused', cause },
  )
}

function unknownId(id: number): AmbitError {
  return new AmbitError(
    'not-found',
    `Expected schema id ${id} in the registry, got none. Was it written with another registry?`,
  )
}

function away(cause: unknown): AmbitError {
  return new AmbitError(
    'log-unavailable',
    'Expected an answer of the schema registry, got none. Try again when it is back.',
    { cause },
  )
}
