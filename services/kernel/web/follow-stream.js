/** Server-sent events, for as long as a page wants them. */
import { call } from './call.js'

const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 15_000

/**
 * Reads the stream at `path`, and opens it again when it breaks, each time a little later, until
 * `signal` aborts. `onOpen` is awaited before the first event, `onEvent` is called with a name and
 * what its JSON says, `onAway` when the stream has gone. `onRefused` ends it: the key is no good.
 */
export async function followStream({ path, signal, onOpen, onEvent, onAway, onRefused }) {
  let pause = RETRY_MS_MIN
  while (!signal.aborted) {
    try {
      const response = await call(path, { signal })
      await onOpen()
      pause = RETRY_MS_MIN
      await readEvents(response, onEvent)
    } catch (error) {
      if (signal.aborted) return
      if (error.status === 401 || error.status === 403) return onRefused(error.message)
    }
    onAway()
    await new Promise(resolve => setTimeout(resolve, pause))
    pause = Math.min(pause * 2, RETRY_MS_MAX)
  }
}

/** `fetch` is used because EventSource cannot send a key. */
async function readEvents(response, onEvent) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    rest += value
    const blocks = rest.split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) tell(block, onEvent)
  }
}

/** One event; the server writes its JSON as one line. */
function tell(block, onEvent) {
  const lines = block.split('\n')
  const fieldOf = name => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const data = fieldOf('data')
  if (data) onEvent(fieldOf('event'), JSON.parse(data))
}
