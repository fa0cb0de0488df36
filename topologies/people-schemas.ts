/**
 * Writes the JSON schemas of what people write to `schemas/json/`, from the zod schemas that the
 * product reads with: `node topologies/people-schemas.ts`; `--check` fails when one is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { agentSchema } from '#kernel/domain/agent.ts'
import { policySchema } from '#kernel/domain/policy.ts'
import { keySchema } from '#kernel/domain/principal.ts'
import { sourceSchema } from '#kernel/domain/source.ts'
import { subscriptionSchema } from '#kernel/domain/subscription.ts'

/** Documents by the name of their file. */
export const PEOPLE_SCHEMAS = {
  subscription: subscriptionSchema,
  policy: policySchema,
  agent: agentSchema,
  source: sourceSchema,
  key: keySchema,
}
export type PeopleSchema = keyof typeof PEOPLE_SCHEMAS

const FOLDER = join(import.meta.dirname, '../schemas/json')

export const schemaPath = (name: string) => join(FOLDER, `${name}.schema.json`)

/** The JSON Schema (2020-12) of one document, as text. */
export function schemaText(name: PeopleSchema): string {
  const schema = z.toJSONSchema(PEOPLE_SCHEMAS[name], { io: 'input', unrepresentable: 'any' })
  return `${JSON.stringify({ title: name, ...schema }, null, 2)}\n`
}

if (import.meta.main) {
  for (const name of Object.keys(PEOPLE_SCHEMAS) as PeopleSchema[]) {
    if (!process.argv.includes('--check')) writeFileSync(schemaPath(name), schemaText(name))
    else if (readFileSync(schemaPath(name), 'utf8') !== schemaText(name)) {
      console.error(
        `schemas/json/${name}.schema.json is stale: run \`node topologies/people-schemas.ts\``,
      )
      process.exitCode = 1
    }
  }
}
