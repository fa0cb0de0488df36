/**
 * `npm start`: the whole product in one process.
 *
 *     npm start -- [--empty] [--port 7171] [--data DIR] [--host 127.0.0.1]
 */
import { parseArgs } from 'node:util'
import { runProcess } from '#kernel/host/run-process.ts'
import { startAllServices } from './all-services.ts'
import { allowTicketServer } from './demo/demo-tickets.ts'
import { startDemo } from './demo/start-demo.ts'

const USAGE = 'npm start -- [--empty] [--port 7171] [--data DIR] [--host 127.0.0.1]'

function readFlags() {
  try {
    const { values } = parseArgs({
      options: {
        empty: { type: 'boolean', default: false },
        port: { type: 'string' },
        data: { type: 'string' },
        host: { type: 'string' },
      },
    })
    const { port = '0' } = values
    if (/^\d+$/.test(port) && Number(port) <= 65_535) return values
    return `--port: expected a number from 0 to 65535, got ${port}.`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const values = readFlags()
if (typeof values === 'string') {
  process.stderr.write(`${values}\nUsage: ${USAGE}\n`)
  process.exit(2)
}
const flags = { AMBIT_PORT: values.port, AMBIT_DATA_DIR: values.data, AMBIT_HOST: values.host }
for (const [name, value] of Object.entries(flags)) {
  if (value !== undefined) process.env[name] = value
}
if (!values.empty) allowTicketServer(process.env)
// The terminal is for people here: decisions, not requests.
process.env.AMBIT_LOG_LEVEL ??= 'warn'

const started = await runProcess('embedded', startAllServices)
if (started) {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const { url, platform } = started
  print(`Ambit is ready: ${url}/#key=${platform.adminKey ?? ''}`)
  if (!values.empty) {
    print('The demo tells its story; one line per decision, the page shows the trace behind each.')
    await startDemo(started, print)
  }
}
