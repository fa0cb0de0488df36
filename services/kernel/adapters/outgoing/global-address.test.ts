import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isGlobalAddress } from './global-address.ts'

/** Both ends of every block of the IPv4 registry that is not left to everybody. */
const SPECIAL_V4 = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0
  127.255.255.255 169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255
  192.0.2.0 192.0.2.255 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255
  192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.0 239.255.255.255
  240.0.0.0 255.255.255.255`

const GLOBAL_V4 = `
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0
  198.17.255.255 198.20.0.0 223.255.255.255`

/** The IPv6 registry, and forms that carry an IPv4. */
const SPECIAL_V6 = `
  :: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::808:808
  64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1
  2001:20::1 2001:30::1 2001:1ff:ffff::1 2001:db8::1 2002:808:808:: 2620:4f:8000::1 3fff::1
  3fff:fff::1 5f00::1 4000::1 fc00::1 fdff::1 fe80::1 fec0::1 ff02::1 1fff::1`

const GLOBAL_V6 = `
  2000::1 2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00::1 3ffe::1
  3fff:1000::1 2606:4700::5efe:808:808`

const words = (text: string) => text.trim().split(/\s+/)

describe('only addresses that everybody may reach are global', () => {
  for (const address of words(`${SPECIAL_V4} ${SPECIAL_V6}`)) {
    it(`${address} is not`, () => assert.equal(isGlobalAddress(address), false))
  }
  for (const address of words(`${GLOBAL_V4} ${GLOBAL_V6}`)) {
    it(`${address} is`, () => assert.equal(isGlobalAddress(address), true))
  }
  it('an IPv4 that a tunnel router would unwrap is judged too', () => {
    assert.equal(isGlobalAddress('2606:4700::5efe:a00:1'), false)
    assert.equal(isGlobalAddress('2606:4700::200:5efe:7f00:1'), false)
  })
  it('text that is no plain address is not', () => {
    const odd = ['', 'localhost', '8.8.8', '134744072', '08.8.8.8', '0x8.8.8.8', '8.8.8.8 ']
    for (const text of [...odd, '2606:4700::1%eth0', '[2606:4700::1]', '2606:4700::1/64']) {
      assert.equal(isGlobalAddress(text), false, text)
    }
  })
})
