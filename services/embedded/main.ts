/**
 * `npm start`: the whole product in one process.
 *
 *     npm start -- [--empty] [--port 7171] [--data DIR] [--host 127.0.0.1]
 */
import { parseArgs } from 'node:util'
import { runProcess } from '#kernel/host/run-process.ts'
import { startAllServices } from './all-services.ts'

const { values } = parseArgs({
  options: {
    empty: { type: 'boolean', default: false },
    port: { type: 'string' },
    data: { type: 'string' },
    host: { type: 'string' },
  },
})
process.env.AMBIT_PORT = values.port ?? process.env.AMBIT_PORT
process.env.AMBIT_DATA_DIR = values.data ?? process.env.AMBIT_DATA_DIR
process.env.AMBIT_HOST = values.host ?? process.env.AMBIT_HOST
for (const name of ['AMBIT_PORT', 'AMBIT_DATA_DIR', 'AMBIT_HOST']) {
  if (process.env[name] === 'undefined') delete process.env[name]
}

const started = await runProcess('embedded', startAllServices)
if (started) {
  const { url, platform } = started
  const key = platform.adminKey ? `/#key=${platform.adminKey}` : '/'
  process.stdout.write(`Ambit is ready: ${url}${key}\n`)
}
