/**
 * Schedules beside their floors: the rebuild of the index beside reading and decoding the same
 * records, 50 000 due in one second beside the bare append of 50 000 records, and the next
 * occurrence beside two libraries. Each side runs in a process of its own.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, figure, writeFigures } from '../figures.ts'

interface Rebuilt {
  tookMs: number
  records: number
  peakBytes: number
}

interface Due {
  bareMs: number
  p50: number
  p99: number
  max: number
  othersMax: number
}

const MIB = 2 ** 20

/** `bench schedule [--json FILE] [--sizes 100000,1000000]`: prints one line per figure. */
export function benchSchedule(argv: readonly string[]): Figure[] {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      json: { type: 'string' },
      sizes: { type: 'string', default: '100000,1000000' },
      due: { type: 'string', default: '50000' },
    },
  })
  const sizes = values.sizes.split(',').filter(Boolean)
  const figures = [...nextFigures(), ...dueFigures(values.due), ...sizes.flatMap(rebuildFigures)]
  writeFigures('schedule', figures, values.json)
  return figures
}

function nextFigures(): Figure[] {
  const found = measure<{ ours: number; rrule: number; temporal: number }>('next')
  return [
    figure('schedule.next.perSecond.rrule', found.ours, found.rrule),
    figure('schedule.next.perSecond.rruleTemporal', found.ours, found.temporal),
  ]
}

function dueFigures(count: string): Figure[] {
  return inFolder(folder => {
    const { bareMs, p50, p99, max, othersMax } = measure<Due>('due', folder, count)
    return [
      figure(`schedule.due.${count}.p50Ms`, p50, null),
      figure(`schedule.due.${count}.p99Ms`, p99, null),
      figure(`schedule.due.${count}.maxMs`, max, bareMs),
      figure(`schedule.due.${count}.otherTenantMaxMs`, othersMax, null),
    ]
  })
}

function rebuildFigures(size: string): Figure[] {
  return inFolder(folder => {
    measure('rebuild', 'fill', folder, size)
    const read = measure<Rebuilt>('rebuild', 'read', folder, size)
    const index = measure<Rebuilt>('rebuild', 'index', folder, size)
    if (index.records !== Number(size)) throw new Error(`indexed ${index.records} of ${size}`)
    return [
      figure(`schedule.rebuild.${size}.ms`, index.tookMs, read.tookMs),
      figure(`schedule.rebuild.${size}.peakMiB`, index.peakBytes / MIB, read.peakBytes / MIB),
    ]
  })
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-schedule-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function measure<T>(what: string, ...args: string[]): T {
  const program = join(import.meta.dirname, `measure-${what}.ts`)
  const flags = ['--expose-gc', '--max-old-space-size=4096', program, ...args]
  return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' })) as T
}
