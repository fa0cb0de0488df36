/** The control plane as a process of its own: registry, API, page. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startControlPlane } from './service.ts'

await runProcess('control-plane', ({ platform, app, stepWorld }) =>
  startControlPlane(app, platform, stepWorld('control-plane')),
)
