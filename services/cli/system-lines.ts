/** The answer of `GET /v1/system` as lines: one for each plane, step and service. */
import type { ServiceState, SystemState } from '#services/client/api-history.ts'

export interface SystemLine {
  part: string
  /** Who runs it. */
  service: string
  state: string
  /** With its unit: records, or time. */
  lag: string
  found: string
}

/** Lines in the order planes, steps, services; what an older server leaves out is left out. */
export function systemLines({ planes, steps = [], services = [] }: SystemState): SystemLine[] {
  return [
    ...planeLines(planes),
    ...steps.map(({ step, service, lag }) => ({
      ...{ part: step, service, state: lag === 0 ? 'ok' : 'behind', lag: `${lag} records` },
      found: '',
    })),
    ...services.map(serviceLine),
  ]
}

function planeLines(planes: SystemState['planes']): SystemLine[] {
  if (!planes) return []
  const { control, execution } = planes
  const age = timeOf(control.heartbeatAgeMs)
  return [
    {
      ...{ part: 'control plane', service: '', state: control.alive ? 'ok' : 'silent', lag: age },
      found: 'since its last sign of life',
    },
    { ...{ part: 'execution plane', service: '', lag: '', found: '' }, state: execution.state },
  ]
}

/** Every number that the service tells, by its name. */
export function serviceLine({ service, state, lagMs, ...more }: ServiceState): SystemLine {
  const facts = Object.entries(more).filter(([, value]) => value !== null)
  return {
    ...{ part: service, service, state },
    lag: lagMs === undefined ? '' : timeOf(lagMs),
    found: facts.map(([name, value]) => `${wordsOf(name)} ${value}`).join(', '),
  }
}

const wordsOf = (name: string) => name.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)

function timeOf(ms: number): string {
  return ms < 10_000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`
}
