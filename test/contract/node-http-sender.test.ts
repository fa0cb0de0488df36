import { createNodeHttpSender } from '#kernel/adapters/outgoing/node-http-sender.ts'
import { httpSenderContract } from './http-sender.ts'

httpSenderContract('node', createNodeHttpSender)
