/** Management: subscriptions, agents, sources, connectors, policy and keys. */
import type {
  AgentInput,
  ApplyItem,
  AuditEntry,
  ConnectorInput,
  CreatedKey,
  EventInput,
  Key,
  KeyInput,
  PolicyInput,
  SourceInput,
  Stored,
  Subscription,
  SubscriptionInput,
  SubscriptionPatch,
  TestResult,
} from './api.ts'
import { awaitChange } from './await-change.ts'
import { awaitTrial } from './await-trial.ts'
import { type Listing, listing } from './page-items.ts'
import { type Call, segment, type Transport } from './transport.ts'

/** Sent as `If-Match`: 412 `version-mismatch` when the object has another version. */
export interface ChangeOptions {
  ifMatch?: number
  /** Names the change; the same key twice answers the same. Default: a random one. */
  idempotencyKey?: string
}

export interface ApplyOptions {
  dryRun?: boolean
  /** Deletes what carries `managedBy` and is not in the list. */
  prune?: boolean
  /** Set on all of the list; names are matched under it only. Default `apply`. */
  managedBy?: string
}

export interface Subscriptions {
  create(input: SubscriptionInput, options?: ChangeOptions): Promise<Subscription>
  get(id: string): Promise<Subscription>
  list: Listing<Subscription, { agent?: string; state?: string; managedBy?: string }>
  patch(id: string, patch: SubscriptionPatch, options?: ChangeOptions): Promise<Subscription>
  delete(id: string, options?: ChangeOptions): Promise<Subscription>
  /** `until` is an instant; without it the pause lasts until a resume. */
  pause(id: string, reason: string, until?: string): Promise<Subscription>
  resume(id: string, reason?: string): Promise<Subscription>
  approve(id: string, reason?: string): Promise<Subscription>
  reject(id: string, reason: string): Promise<Subscription>
  history(id: string): Listing<AuditEntry, unknown>
  /** Judges events without waking anybody; `observe` subscriptions fetch their own. */
  test(id: string, events?: EventInput[]): Promise<TestResult>
  testDraft(subscription: SubscriptionInput, events: EventInput[]): Promise<TestResult>
  apply(list: SubscriptionInput[], options?: ApplyOptions): Promise<{ items: ApplyItem[] }>
}

/** Binds the subscription routes to a transport. */
export function subscriptionCalls(transport: Transport): Subscriptions {
  const at = (id: string, verb = '') => `/v1/subscriptions/${segment(id)}${verb}`
  const change = (call: Call, options?: ChangeOptions) =>
    awaitChange<Subscription>(transport, { ...call, headers: changeHeaders(options) })
  const lifecycle = (id: string, verb: string, body: object) =>
    change({ method: 'POST', path: at(id, verb), body })
  const test = (path: string, body: object) => awaitTrial(transport, { method: 'POST', path, body })
  const contentType = 'application/merge-patch+json'
  return {
    create: (body, options) => change({ method: 'POST', path: '/v1/subscriptions', body }, options),
    get: id => transport.json({ method: 'GET', path: at(id) }),
    list: listing(transport, '/v1/subscriptions'),
    patch: (id, body, options) =>
      change({ method: 'PATCH', path: at(id), body, contentType }, options),
    delete: (id, options) => change({ method: 'DELETE', path: at(id) }, options),
    pause: (id, reason, until) => lifecycle(id, '/pause', { reason, until }),
    resume: (id, reason) => lifecycle(id, '/resume', { reason }),
    approve: (id, reason) => lifecycle(id, '/approve', { reason }),
    reject: (id, reason) => lifecycle(id, '/reject', { reason }),
    history: id => listing(transport, at(id, '/history')),
    test: (id, events) => test(at(id, '/test'), { events }),
    testDraft: (subscription, events) => test('/v1/test', { subscription, events }),
    apply: (list, options) =>
      transport.json({ method: 'POST', path: '/v1/apply', query: { ...options }, body: list }),
  }
}

/** Objects that are written whole under a name. */
export interface NamedObjects<Input> {
  list: Listing<Stored<Input> & { id: string }, unknown>
  get(name: string): Promise<Stored<Input>>
  put(name: string, input: Input, options?: ChangeOptions): Promise<Stored<Input>>
  delete(name: string, options?: ChangeOptions): Promise<unknown>
}

export interface Management {
  agents: NamedObjects<AgentInput> & {
    /** Wakes nobody there until it is started again. */
    stop(id: string, reason: string): Promise<unknown>
    start(id: string, reason: string): Promise<unknown>
  }
  sources: NamedObjects<SourceInput>
  connectors: NamedObjects<ConnectorInput>
  policy: {
    get(): Promise<Stored<PolicyInput>>
    put(policy: PolicyInput, options?: ChangeOptions): Promise<Stored<PolicyInput>>
  }
  keys: {
    /** The only answer with the secret. */
    create(input: KeyInput): Promise<CreatedKey>
    list: Listing<Key, unknown>
    delete(id: string): Promise<unknown>
  }
  /** Stops or starts the whole tenant. */
  tenant: {
    stop(reason: string): Promise<unknown>
    start(reason: string): Promise<unknown>
  }
}

/** Binds the routes of the other objects to a transport. */
export function managementCalls(transport: Transport): Management {
  const post = <T>(path: string, body: unknown) =>
    awaitChange<T>(transport, { method: 'POST', path, body })
  const agentVerb = (id: string, verb: string, reason: string) =>
    post(`/v1/agents/${segment(id)}/${verb}`, { reason })
  const policy: Pick<Call, 'path'> = { path: '/v1/policy' }
  return {
    agents: {
      ...namedObjects<AgentInput>(transport, '/v1/agents'),
      stop: (id, reason) => agentVerb(id, 'stop', reason),
      start: (id, reason) => agentVerb(id, 'start', reason),
    },
    sources: namedObjects(transport, '/v1/sources'),
    connectors: namedObjects(transport, '/v1/connectors'),
    policy: {
      get: () => transport.json({ method: 'GET', ...policy }),
      put: (body, options) =>
        awaitChange(transport, {
          method: 'PUT',
          ...policy,
          body,
          headers: changeHeaders(options),
        }),
    },
    keys: {
      create: input => post('/v1/keys', input),
      list: listing(transport, '/v1/keys'),
      delete: id => awaitChange(transport, { method: 'DELETE', path: `/v1/keys/${segment(id)}` }),
    },
    tenant: {
      stop: reason => post('/v1/stop', { reason }),
      start: reason => post('/v1/start', { reason }),
    },
  }
}

function namedObjects<Input>(transport: Transport, path: string): NamedObjects<Input> {
  const at = (name: string) => `${path}/${segment(name)}`
  const change = <T>(call: Call, options?: ChangeOptions) =>
    awaitChange<T>(transport, { ...call, headers: changeHeaders(options) })
  return {
    list: listing(transport, path),
    get: name => transport.json({ method: 'GET', path: at(name) }),
    put: (name, body, options) => change({ method: 'PUT', path: at(name), body }, options),
    delete: (name, options) => change({ method: 'DELETE', path: at(name) }, options),
  }
}

function changeHeaders({ ifMatch, idempotencyKey }: ChangeOptions = {}): Record<string, string> {
  return {
    ...(ifMatch === undefined ? {} : { 'if-match': String(ifMatch) }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  }
}
