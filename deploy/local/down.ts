/** `npm run infra:down`: stops what `infra:up` started and removes its data. */
import { infraSettings, stopInfra } from './infra.ts'

await stopInfra(infraSettings())
