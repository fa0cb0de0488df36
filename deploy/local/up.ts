/** `npm run infra:up`: real Kafka, Redis and schema registry on loopback, addresses on stdout. */
import { envLines, infraSettings, startInfra } from './infra.ts'

try {
  const env = await startInfra(infraSettings())
  process.stdout.write(`${envLines(env).join('\n')}\n`)
} catch (error) {
  process.stderr.write(`infra:up failed. ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
