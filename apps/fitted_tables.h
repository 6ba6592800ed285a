// Markdown tables on a terminal that is narrower than they are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace inferno::apps {

// The text with every table at most `columns` wide: its widest cells go on below themselves. A table whose
// words alone are wider gets no narrower than these. nullopt: the text as it is.
std::string fitted_tables(std::string_view markdown, std::optional<size_t> columns);

}  // namespace inferno::apps
