/**
 * What a distributed suite asks before it starts:
 *
 *     describe('the Kafka log', { skip: skipWithoutInfra }, () => { … liveInfra() … })
 *
 * `npm test` passes the addresses on; a file run alone with `node --test` finds them itself.
 */
import { answeringInfra, type InfraEnv } from '../../deploy/local/infra.ts'

const infra = passedOn() ?? (await answeringInfra())

/** The reason to skip, or false when all three services of `infra:up` answer. */
export const skipWithoutInfra: string | false = infra ? false : 'needs npm run infra:up'

/** The addresses of the real services; only inside a suite that was not skipped. */
export function liveInfra(): InfraEnv {
  if (infra) return infra
  throw new Error('No live services: skip the suite with skipWithoutInfra')
}

function passedOn(): InfraEnv | undefined {
  const { AMBIT_KAFKA_BROKERS, AMBIT_REDIS_URL, AMBIT_SCHEMA_REGISTRY_URL } = process.env
  if (!AMBIT_KAFKA_BROKERS || !AMBIT_REDIS_URL || !AMBIT_SCHEMA_REGISTRY_URL) return undefined
  return { AMBIT_KAFKA_BROKERS, AMBIT_REDIS_URL, AMBIT_SCHEMA_REGISTRY_URL }
}
