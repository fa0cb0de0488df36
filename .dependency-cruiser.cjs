/**
 * Who may import whom. The numbers are those of the architecture page:
 *
 *  1. pure files import pure files, generated types and pure libraries;
 *  2. ports -> domain; adapters -> ports, domain and one driver, each driver in one folder;
 *  3. a service -> kernel, schemas; never another service;
 *  4. topologies imports the deciders; no decider imports topologies;
 *  5. only host and main.ts name adapters;
 *  6. no cycles; (`index.ts` and `export *` are found by test/support/tidy.test.ts)
 *  7. a page in a browser imports its own folder and kernel/web.
 */

const TESTS = '\\.test\\.ts$'

/** Wiring and edges: what a service may do besides deciding. Every other file of it is pure. */
const PURE = [
  '^services/kernel/domain/',
  '^services/(evaluator|guard|scheduler)/',
  '^services/[^/]+/(deciders|domain|mappers|rules|stages)/',
  '^services/.+/decide\\.ts$',
  '^services/.+/decide-[^/]+\\.ts$',
  '^services/.+-decider\\.ts$',
]
const WIRING = [
  TESTS,
  '^services/[^/]+/(main|service|config|configuration|metrics)\\.ts$',
  '^services/.+-(service|worker|loop|runner)\\.ts$',
]

/** Libraries without clock, randomness or I/O. Temporal is built in. */
const PURE_LIBRARIES = [
  '^node_modules/zod/',
  '^node_modules/@bufbuild/cel/',
  '^node_modules/@noble/hashes/',
  '^node_modules/ical\\.js/',
  '^node_modules/snowball-stemmers/',
]

/** Composition roots: they exist to name adapters and other services. */
const ROOTS = [
  '^services/[^/]+/main\\.ts$',
  '^services/kernel/host/',
  '^services/embedded/',
  '^(test|loadtest|deploy)/',
  TESTS,
]

/** Each driver and the only product folders that may import it. */
const DRIVERS = [
  { driver: 'kafkajs', module: '^node_modules/kafkajs/', home: 'services/kernel/adapters/kafka/' },
  {
    driver: 'schema-registry',
    module: '^node_modules/@kafkajs/confluent-schema-registry/',
    home: 'services/kernel/adapters/(schema-registry|avro|kafka)/',
  },
  { driver: 'ioredis', module: '^node_modules/ioredis/', home: 'services/kernel/adapters/redis/' },
  {
    driver: 'sqlite',
    module: '^(node:)?sqlite$',
    home: '(services/kernel/adapters/sqlite|services/control-plane/read-model)/',
  },
  {
    driver: 'avsc',
    module: '^node_modules/avsc/',
    home: '(services/kernel/adapters/(avro|schema-registry)|schemas)/',
  },
  { driver: 'openai', module: '^node_modules/openai/', home: 'services/kernel/adapters/openai/' },
  {
    driver: 'ical-js',
    module: '^node_modules/ical\\.js/',
    home: 'services/kernel/domain/calendar/',
  },
  {
    driver: 'mcp-client',
    module: '^node_modules/@modelcontextprotocol/client/',
    home: 'services/kernel/adapters/mcp/',
  },
  { driver: 'fastify', module: '^node_modules/fastify/', home: 'services/kernel/host/' },
  { driver: 'pino', module: '^node_modules/pino/', home: 'services/kernel/host/' },
  {
    driver: 'prom-client',
    module: '^node_modules/prom-client/',
    home: 'services/kernel/host/',
  },
]

const driverRules = DRIVERS.map(({ driver, module, home }) => ({
  name: `driver-${driver}-has-one-home`,
  comment: `2. ${driver} is imported below ${home} only, so that replacing it touches one folder.`,
  severity: 'error',
  from: { pathNot: [`^${home}`, '^(test|deploy|loadtest)/', TESTS] },
  to: { path: module, dependencyTypesNot: ['type-only'] },
}))

module.exports = {
  forbidden: [
    {
      name: 'pure-files-stay-pure',
      comment: '1. A decision can be replayed anywhere only if it imports nothing that acts.',
      severity: 'error',
      from: { path: PURE, pathNot: WIRING },
      to: {
        pathNot: [
          '^services/kernel/(domain/|errors\\.ts$)',
          '^services/[^/]+/',
          '^schemas/',
          ...PURE_LIBRARIES,
        ],
      },
    },
    {
      name: 'pure-files-import-no-edges',
      comment: '1. Not even by way of a file of the kernel or of their own service.',
      severity: 'error',
      from: { path: PURE, pathNot: WIRING },
      to: {
        path: [
          '^services/kernel/(adapters|host|ports)/',
          '^services/[^/]+/(main|service|config|configuration|metrics)\\.ts$',
        ],
        // The shape of what a port carries is data; the port itself is for wiring.
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'domain-imports-domain',
      comment: '1. The innermost ring knows no other.',
      severity: 'error',
      from: { path: '^services/kernel/domain/', pathNot: TESTS },
      to: { path: '^(services/(?!kernel/(domain/|errors\\.ts$))|topologies/)' },
    },
    {
      name: 'ports-import-domain',
      comment: '2. A port is a promise in words of the domain.',
      severity: 'error',
      from: { path: '^services/kernel/ports/', pathNot: TESTS },
      to: { pathNot: ['^services/kernel/(ports|domain)/', '^services/kernel/errors\\.ts$'] },
    },
    {
      name: 'adapters-import-ports-and-domain',
      comment: '2. An adapter knows its port, the domain, the schemas and its own driver.',
      severity: 'error',
      from: { path: '^services/kernel/adapters/([^/]+)/', pathNot: TESTS },
      to: {
        path: '^(services|topologies)/',
        pathNot: [
          '^services/kernel/(ports|domain)/',
          '^services/kernel/errors\\.ts$',
          '^services/kernel/adapters/$1/',
        ],
      },
    },
    ...driverRules,
    {
      name: 'services-speak-through-topics',
      comment: '3. No service imports another; embedded composes them, client is for outsiders.',
      severity: 'error',
      from: { path: '^services/([^/]+)/', pathNot: ['^services/(kernel|embedded)/', TESTS] },
      to: { path: '^services/', pathNot: ['^services/(kernel|$1)/', '^services/client/'] },
    },
    {
      name: 'client-is-for-outsiders',
      comment:
        '3. Services do not call each other over HTTP with the client library either. The agent is ' +
        'an executor like any outside one: the public API is all it may know.',
      severity: 'error',
      from: { path: '^services/', pathNot: ['^services/(client|cli|demo|embedded|agent)/', TESTS] },
      to: { path: '^services/client/' },
    },
    {
      name: 'kernel-knows-no-service',
      comment: '3. The kernel serves all of them and knows none.',
      severity: 'error',
      from: { path: '^services/kernel/', pathNot: TESTS },
      to: { path: '^services/(?!kernel/)' },
    },
    {
      name: 'no-decider-imports-topologies',
      comment: '4. The graph names the deciders, never the other way round.',
      severity: 'error',
      from: { path: PURE, pathNot: WIRING },
      to: { path: '^topologies/' },
    },
    {
      name: 'schemas-import-nothing-of-ours',
      comment: '3. Schemas are the lowest layer.',
      severity: 'error',
      from: { path: '^schemas/', pathNot: TESTS },
      to: { path: '^(services/(?!kernel/(domain/|errors\\.ts$))|topologies/)' },
    },
    {
      name: 'only-roots-name-adapters',
      comment: '5. Everything else takes a port.',
      severity: 'error',
      from: { path: '.', pathNot: ['^services/kernel/adapters/', ...ROOTS] },
      to: { path: '^services/kernel/adapters/' },
    },
    {
      name: 'pages-see-the-api-only',
      comment: '7. What a page knows, any client of the API can know; all pages share one folder.',
      severity: 'error',
      from: { path: '^services/(control-plane|agent/page|kernel)/web/', pathNot: TESTS },
      to: { path: '.', pathNot: '^services/(control-plane|agent/page|kernel)/web/' },
    },
    {
      name: 'product-imports-no-test',
      comment: 'Tests and tools may import the product, never the other way round.',
      severity: 'error',
      from: { path: '^(services|schemas|topologies)/', pathNot: TESTS },
      to: { path: ['^(test|loadtest|deploy)/', TESTS] },
    },
    {
      name: 'no-cycles',
      comment: '6. Two files that need each other are one, or hide a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that cannot be found would fail only when it runs.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dev-dependency-in-the-product',
      comment: 'Production installs leave them out.',
      severity: 'error',
      from: { path: '^(services|topologies)/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^test/cases/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
}
