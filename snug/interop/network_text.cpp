#include "snug/interop/network_text.h"

#include "snug/interop/network_config.h"

namespace snug {
namespace {

class NetworkText {
 public:
  std::string text;

  void put(OrderedJson frame, Network& network) { put(frame, layers_of(frame), network); }

 private:
  // A part of a frame, with the layers in their place.
  void put(const OrderedJson& part, const OrderedJson& layers, Network& network) {
    if (&part == &layers) return put_layers(network);
    if (!part.is_object()) return static_cast<void>(text += dumped(part));
    text += '{';
    for (const auto& [key, value] : part.get_ref<const OrderedJson::object_t&>()) {
      if (text.back() != '{') text += ',';
      text += dumped(key) + ':';
      put(value, layers, network);
    }
    text += '}';
  }

  void put_layers(Network& network) {
    text += '[';
    visit_layers(network, [&](OrderedJson layer, Network* nested) {
      if (text.back() != '[') text += ',';
      if (nested != nullptr)
        put(std::move(layer), *nested);
      else
        text += dumped(layer);
    });
    text += ']';
  }
};

}  // namespace

std::string dumped(const OrderedJson& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, OrderedJson::error_handler_t::replace);
}

std::string network_text(Network& network, OrderedJson frame) {
  NetworkText writer;
  // Text that does not move while it grows is there once; what is never written takes no memory.
  writer.text.reserve(3 * network_text_bytes(network));
  writer.put(std::move(frame), network);
  return std::move(writer.text);
}

// Of usual layers a convolution's and a normalization's are longest. Those of a network that is
// called several times are described once.
size_t network_text_bytes(const Network& network) {
  constexpr size_t kOfACall = 1024, kOfAnInput = 192;
  size_t bytes = 0;
  for (const LayerCall& call : network.calls()) bytes += kOfACall + call.in.size() * kOfAnInput;
  for (const LayerPtr& layer : network.layers_and_operations()) {
    if (const auto* nested = dynamic_cast<const Network*>(layer.get()))
      bytes += network_text_bytes(*nested);
  }
  return bytes;
}

}  // namespace snug
